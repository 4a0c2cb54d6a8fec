"""Which rule holds for a run, and which runs it lets go."""

from __future__ import annotations

from orchestrator.domain.retention import Ended, Rule, Sieve

DAY = 86400


def going(rules: list[Rule], *runs: tuple[str, str, float], workflow: str = "w") -> list[bool]:
    """Whether each goes; a run is (app, status, days), the newest first."""
    sieve = Sieve.of(workflow, rules)
    return [
        sieve.lets_go(Ended(str(n), app, status, days * DAY)) is not None for n, (app, status, days) in enumerate(runs)
    ]


def test_without_a_rule_nothing_goes() -> None:
    assert going([], ("a", "succeeded", 9999)) == [False]
    assert not Sieve.of("w", [Rule(), Rule("audit_log", keep_seconds=1)]).removes


def test_what_ended_longer_ago_than_it_is_kept_goes() -> None:
    rule = Rule(keep_seconds=30 * DAY)
    assert going([rule], ("a", "failed", 29), ("a", "failed", 30), ("b", "succeeded", 31)) == [False, True, True]
    assert Sieve.of("w", [rule]).youngest == 30 * DAY


def test_the_more_particular_rule_counts_workflow_before_app_before_status() -> None:
    rules = [
        Rule(status="failed", keep_seconds=1 * DAY),
        Rule(app="a", keep_seconds=10 * DAY),
        Rule(app="a", status="failed"),
        Rule(workflow="w", keep_seconds=20 * DAY),
        Rule(workflow="w", status="canceled", keep_seconds=5 * DAY),
    ]
    runs = [("a", "failed", 19.0), ("b", "failed", 21.0), ("a", "canceled", 6.0), ("b", "succeeded", 2.0)]
    assert going(rules, *runs) == [False, True, True, False]
    assert going(rules, *runs, workflow="other") == [False, True, False, False]
    assert going(rules, ("a", "succeeded", 11), ("b", "succeeded", 999), workflow="other") == [True, False]


def test_the_newest_are_counted_by_app_and_by_what_the_rule_is_about() -> None:
    runs = [("a", "succeeded", 0.0), ("a", "failed", 1.0), ("b", "failed", 2.0), ("a", "succeeded", 3.0)]
    assert going([Rule(keep_newest=1)], *runs) == [False, True, False, True]
    assert going([Rule(status="succeeded", keep_newest=1)], *runs) == [False, False, False, True]
    assert going([Rule(keep_newest=0)], *runs) == [True] * 4
    assert Sieve.of("w", [Rule(keep_newest=1), Rule(status="failed", keep_seconds=9)]).youngest == 0


def test_with_both_bounds_either_keeps_a_run() -> None:
    rule = Rule(keep_seconds=10 * DAY, keep_newest=1)
    assert going([rule], ("a", "failed", 99), ("a", "failed", 9), ("a", "failed", 11)) == [False, False, True]
