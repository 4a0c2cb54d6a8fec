"""Airflow's twelve trigger rules over every multiset of one to three ends, in every order in which they may come."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from orchestrator import testing
from orchestrator.domain.cascade import counted
from orchestrator.domain.definition import Edge, Step, StepKind, TriggerRule
from orchestrator.domain.graph import edges_by_source
from orchestrator.domain.rules import Decision, Tally, decide, effect
from orchestrator.domain.states import StepStatus
from tests.conformance.cases import load
from tests.scripted import FUNCTION, Script

CASES = load("trigger_rules.json")
_DECISIONS = {
    Decision.RUN: "run",
    Decision.SKIP: "skipped",
    Decision.UPSTREAM_FAILED: "upstream_failed",
    Decision.WAIT: "wait",
}
_STATUSES = {"success": StepStatus.SUCCEEDED} | {s: StepStatus(s) for s in ("failed", "skipped", "upstream_failed")}
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


def test_all_cases_are_here() -> None:
    assert len({case["id"] for case in CASES}) == 408
    assert {case["rule"] for case in CASES} == {rule.value for rule in TriggerRule}


def decisions(rule: str, ends: Sequence[str]) -> list[str]:
    """What is decided before any source has ended, and after each of them."""
    names = [str(i) for i in range(len(ends))]
    step = Step("s", StepKind.PASS, depends_on=tuple(map(Edge, names)), trigger_rule=TriggerRule(rule))
    tally = Tally(len(ends), len(ends))
    made = [_DECISIONS[decide(step, tally)]]
    for name, end in zip(names, ends, strict=True):
        edges = edges_by_source(step)[name]
        tally = counted(tally, effect(step, edges, Step(name, StepKind.PASS), _STATUSES[end], {}))
        made.append(_DECISIONS[decide(step, tally)])
    return made


def orders(case: dict[str, Any]) -> list[tuple[str, ...]]:
    return sorted(set(itertools.permutations(case["sources"])))


def airflow_after(case: dict[str, Any], ended: Sequence[str]) -> str:
    """Airflow's decision while only `ended` have ended."""
    running = ["running"] * (len(case["sources"]) - len(ended))
    if not running:
        return str(case["decision"])
    return str(case["partial"][" ".join(sorted([*ended, *running]))])


@every_case
def test_the_decision_is_airflows_in_every_order(case: dict[str, Any]) -> None:
    for ends in orders(case):
        made = [decision for decision in decisions(case["rule"], ends) if decision != "wait"]
        assert set(made) == {case["decision"]}, ends


@every_case
def test_a_decision_to_run_comes_when_airflows_does(case: dict[str, Any]) -> None:
    for ends in orders(case):
        for count, decision in enumerate(decisions(case["rule"], ends)):
            assert (decision == "run") == (airflow_after(case, ends[:count]) == "run"), ends[:count]


@every_case
def test_a_run_with_these_ends_decides_the_same(case: dict[str, Any]) -> None:
    """The same through the whole engine: sources that end so one by one, and a step with each rule."""
    for ends in orders(case):
        after_each = run_of(ends)
        for count, statuses in enumerate(after_each):
            started = statuses[case["rule"]] not in ("pending", "skipped", "upstream_failed")
            assert started == (airflow_after(case, ends[:count]) == "run"), ends[:count]
        end = after_each[-1][case["rule"]]
        assert ("run" if end == "succeeded" else end) == case["decision"], ends


@cache
def run_of(ends: tuple[str, ...]) -> list[dict[str, str]]:
    """The status of each rule's step before any source has ended, after each of them, and (last) at the end."""
    script = Script({f"{who} {i}": [_does(end)] for i, end in enumerate(ends) for who in ("source", "parent")})
    after_each: list[dict[str, str]] = []
    with testing.sandbox(script.functions) as box:
        run_id = box.start(_document(ends))

        def look(_: object = None) -> None:
            statuses = {s.name: s.status for s in box.result(run_id).steps.values()}
            sources = [statuses[f"source {i}"] for i in range(len(ends))]
            done = sum(status not in ("pending", "ready", "queued", "running") for status in sources)
            assert done <= len(after_each), "two sources ended at once"
            after_each[done:] = [statuses]

        look()
        box.drive(run_id, check=look)
        look()
    assert len(after_each) == len(ends) + 1
    return after_each


def _does(end: str) -> str:
    return {"success": "succeeded", "upstream_failed": "failed"}.get(end, end)


def _document(ends: Sequence[str]) -> dict[str, Any]:
    """Sources that know nothing of each other and run in the document's order; each rule's step depends on them."""
    names = [f"source {i}" for i in range(len(ends))]
    steps: list[dict[str, Any]] = []
    for i, end in enumerate(ends):
        first = f"parent {i}" if end == "upstream_failed" else names[i]
        steps.append({"name": first, "function": FUNCTION})
        if first != names[i]:
            steps.append({"name": names[i], "function": FUNCTION, "depends_on": [first]})
    rules = [{"name": r.value, "function": FUNCTION, "depends_on": names, "trigger_rule": r.value} for r in TriggerRule]
    return {"name": "rules", "steps": [*steps, *rules]}
