"""Whether a step starts, decided from tallies alone (docs/definition.md)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest

from orchestrator.domain.cascade import counted
from orchestrator.domain.definition import Edge, EdgeOn, OnError, OnUnreachable, Step, StepKind, TriggerRule
from orchestrator.domain.graph import edges_by_source
from orchestrator.domain.rules import Decision, Effect, Tally, decide, edge_satisfied, effect
from orchestrator.domain.states import StepStatus

S = StepStatus
_SOURCE_ENDS = (S.SUCCEEDED, S.FAILED, S.UPSTREAM_FAILED, S.SKIPPED)


def step(name: str = "s", **options: object) -> Step:
    return Step(name=name, kind=StepKind.PASS, **options)  # type: ignore[arg-type]


def after(count: int, on: EdgeOn = EdgeOn.SUCCESS, **options: object) -> Step:
    """A step that depends on `count` sources named 0, 1, ..."""
    return step(depends_on=tuple(Edge(str(i), on) for i in range(count)), **options)


def effect_of(dependant: Step, source: Step, status: StepStatus, truth: dict[int, bool]) -> Effect:
    return effect(dependant, edges_by_source(dependant).get(source.name, ()), source, status, truth)


def decided(dependant: Step, ends: Sequence[StepStatus], total: int, errors: int = 0) -> Decision:
    """The decision after the first sources ended so, one after the other."""
    tally = Tally(total=total, remaining=total)
    for i, end in enumerate(ends):
        tally = counted(tally, effect_of(dependant, step(str(i)), end, {}))
    for _ in range(errors):
        tally = counted(tally, Effect.UNSATISFIED, edge_errors=1)
    return decide(dependant, tally)


@pytest.mark.parametrize(
    ("on", "satisfied"),
    [
        (EdgeOn.SUCCESS, {S.SUCCEEDED}),
        (EdgeOn.FAILURE, {S.FAILED}),
        (EdgeOn.COMPLETE, {S.SUCCEEDED, S.FAILED}),
        (EdgeOn.SKIPPED, {S.SKIPPED}),
    ],
)
def test_each_kind_of_edge_asks_for_its_own_ends(on: EdgeOn, satisfied: set[StepStatus]) -> None:
    ends = (*_SOURCE_ENDS, S.CANCELED)
    assert {end for end in ends if edge_satisfied(on, step(), end)} == satisfied


def test_a_failure_to_be_gone_on_from_satisfies_success_and_failure_edges() -> None:
    source = step(on_error=OnError.CONTINUE)
    assert edge_satisfied(EdgeOn.SUCCESS, source, S.FAILED)
    assert edge_satisfied(EdgeOn.FAILURE, source, S.FAILED)


@pytest.mark.parametrize("on_error", [OnError.FAIL, OnError.IGNORE, OnError.ABORT])
def test_any_other_failure_satisfies_no_success_edge(on_error: OnError) -> None:
    assert not edge_satisfied(EdgeOn.SUCCESS, step(on_error=on_error), S.FAILED)


def test_a_failure_to_be_gone_on_from_counts_as_a_success_for_trigger_rules() -> None:
    dependant = after(1, trigger_rule=TriggerRule.ALL_SUCCESS)
    assert effect_of(dependant, step("0", on_error=OnError.CONTINUE), S.FAILED, {}) is Effect.SATISFIED


def test_several_edges_from_one_source_count_as_one_satisfied_by_any_of_them() -> None:
    dependant = step(depends_on=(Edge("a", EdgeOn.SUCCESS), Edge("a", EdgeOn.FAILURE), Edge("b")))
    assert effect_of(dependant, step("a"), S.FAILED, {}) is Effect.SATISFIED
    assert effect_of(dependant, step("a"), S.SUCCEEDED, {}) is Effect.SATISFIED
    assert effect_of(dependant, step("a"), S.SKIPPED, {}) is Effect.SKIPPED


def test_an_edge_whose_condition_is_false_is_unsatisfied() -> None:
    dependant = step(depends_on=(Edge("a", when="x"),))
    assert effect_of(dependant, step("a"), S.SUCCEEDED, {0: True}) is Effect.SATISFIED
    assert effect_of(dependant, step("a"), S.SUCCEEDED, {0: False}) is Effect.UNSATISFIED


def test_a_false_condition_on_one_edge_leaves_another_edge_of_the_source() -> None:
    dependant = step(depends_on=(Edge("a", when="x"), Edge("a", EdgeOn.COMPLETE)))
    assert effect_of(dependant, step("a"), S.SUCCEEDED, {0: False}) is Effect.SATISFIED


def test_a_step_without_sources_starts() -> None:
    assert decide(step(), Tally(0, 0)) is Decision.RUN
    for rule in TriggerRule:
        assert decide(step(trigger_rule=rule), Tally(0, 0)) is Decision.RUN


@pytest.mark.parametrize(("join", "needs"), [("all", 3), ("any", 1), (2, 2), (1, 1), (3, 3)])
def test_a_join_is_met_at_the_moment_enough_sources_are_satisfied(join: str | int, needs: int) -> None:
    dependant = after(3, join=join)
    for done in range(4):
        expected = Decision.RUN if done >= needs else Decision.WAIT
        assert decided(dependant, [S.SUCCEEDED] * done, 3) is expected


def test_a_join_out_of_reach_is_upstream_failed_where_a_source_failed() -> None:
    assert decided(after(2), [S.SUCCEEDED, S.FAILED], 2) is Decision.UPSTREAM_FAILED
    assert decided(after(2), [S.UPSTREAM_FAILED, S.SKIPPED], 2) is Decision.UPSTREAM_FAILED


def test_a_join_out_of_reach_is_skipped_where_no_source_failed() -> None:
    assert decided(after(2), [S.SUCCEEDED, S.SKIPPED], 2) is Decision.SKIP
    assert decided(after(1, EdgeOn.FAILURE), [S.SUCCEEDED], 1) is Decision.SKIP


def test_a_satisfied_failure_edge_does_not_make_an_unmet_join_upstream_failed() -> None:
    dependant = step(depends_on=(Edge("0", EdgeOn.FAILURE), Edge("1")))
    assert decided(dependant, [S.FAILED, S.SKIPPED], 2) is Decision.SKIP


def test_a_skip_waits_for_the_failure_that_would_win() -> None:
    assert decided(after(2), [S.SKIPPED], 2) is Decision.WAIT
    assert decided(after(2), [S.SKIPPED, S.FAILED], 2) is Decision.UPSTREAM_FAILED


def test_an_unreachable_join_fails_the_step_where_it_says_so() -> None:
    assert decided(after(2, on_unreachable=OnUnreachable.FAIL), [S.SUCCEEDED, S.FAILED], 2) is Decision.UNREACHABLE
    assert decided(after(3, join=2, on_unreachable=OnUnreachable.FAIL), [S.SUCCEEDED, S.SKIPPED, S.FAILED], 3) is (
        Decision.UNREACHABLE
    )


def test_a_join_with_no_source_satisfied_is_not_called_unreachable() -> None:
    dependant = after(2, on_unreachable=OnUnreachable.FAIL)
    assert decided(dependant, [S.FAILED, S.FAILED], 2) is Decision.UPSTREAM_FAILED
    assert decided(dependant, [S.SKIPPED, S.SKIPPED], 2) is Decision.SKIP


def test_an_edge_condition_that_cannot_be_evaluated_fails_a_step_that_needs_it() -> None:
    dependant = step(depends_on=(Edge("0"), Edge("1", when="x")))
    assert decided(dependant, [S.SUCCEEDED], 2, errors=1) is Decision.EDGE_ERROR


def test_an_edge_condition_that_cannot_be_evaluated_wins_over_a_failed_source() -> None:
    dependant = step(depends_on=(Edge("0"), Edge("1", when="x")))
    assert decided(dependant, [S.FAILED], 2, errors=1) is Decision.EDGE_ERROR


def test_an_edge_condition_that_cannot_be_evaluated_fails_the_step_though_another_edge_of_its_source_holds() -> None:
    dependant = step(depends_on=(Edge("0", when="x"), Edge("0", EdgeOn.COMPLETE), Edge("1")))
    assert decide(dependant, Tally(total=2, remaining=0, satisfied=2, edge_errors=1)) is Decision.EDGE_ERROR


def test_a_join_of_any_starts_in_spite_of_another_edges_error() -> None:
    dependant = step(depends_on=(Edge("0"), Edge("1", when="x")), join="any")
    assert decided(dependant, [S.SUCCEEDED], 2, errors=1) is Decision.RUN


def _dependants() -> Iterator[Step]:
    for count in range(1, 5):
        for rule in TriggerRule:
            yield after(count, trigger_rule=rule)
        for join, on, fails in itertools.product(("all", "any", *range(1, count + 1)), EdgeOn, OnUnreachable):
            yield after(count, on, join=join, on_unreachable=fails)


def test_no_decision_ever_depends_on_the_order_in_which_sources_end() -> None:
    """Every join and rule over every sequence of up to four ends: the first decision equals the one at the end."""
    for dependant in _dependants():
        count = len(dependant.depends_on)
        finals: dict[tuple[StepStatus, ...], Decision] = {}
        for ends in itertools.product(_SOURCE_ENDS, repeat=count):
            so_far = (decided(dependant, ends[:n], count) for n in range(count + 1))
            first = next(d for d in so_far if d is not Decision.WAIT)
            assert finals.setdefault(tuple(sorted(ends)), first) is first, (dependant, ends)


def test_once_all_sources_have_ended_no_step_waits() -> None:
    for dependant in _dependants():
        count = len(dependant.depends_on)
        for ends in itertools.product(_SOURCE_ENDS, repeat=count):
            assert decided(dependant, ends, count) is not Decision.WAIT, (dependant, ends)


@pytest.mark.parametrize(
    ("rule", "end"),
    [
        (TriggerRule.ONE_SUCCESS, S.SUCCEEDED),
        (TriggerRule.ONE_FAILED, S.FAILED),
        (TriggerRule.ONE_FAILED, S.UPSTREAM_FAILED),
        (TriggerRule.ONE_DONE, S.SUCCEEDED),
        (TriggerRule.ONE_DONE, S.FAILED),
    ],
)
def test_a_one_rule_starts_at_the_first_source_that_meets_it(rule: TriggerRule, end: StepStatus) -> None:
    assert decided(after(9, trigger_rule=rule), [end], 9) is Decision.RUN


def test_the_rule_always_starts_before_any_source_has_ended() -> None:
    assert decided(after(9, trigger_rule=TriggerRule.ALWAYS), [], 9) is Decision.RUN


def test_one_done_does_not_count_a_skipped_source() -> None:
    assert decided(after(2, trigger_rule=TriggerRule.ONE_DONE), [S.SKIPPED, S.SKIPPED], 2) is Decision.SKIP


def test_a_canceled_source_counts_as_upstream_failed() -> None:
    assert effect_of(after(1), step("0"), S.CANCELED, {}) is Effect.UPSTREAM_FAILED
