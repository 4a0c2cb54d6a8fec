"""Whether a skip came before every failure, in whatever order attempts end; tests/conformance compares with Airflow."""

from __future__ import annotations

import tracemalloc

import pytest

from orchestrator.domain.definition import Edge, Step, StepKind, TriggerRule
from orchestrator.domain.states import StepStatus
from tests.memory import MemoryRun

S = StepStatus


def step(name: str, *sources: str, rule: TriggerRule = TriggerRule.ALL_DONE) -> Step:
    edges = tuple(map(Edge, sources))
    return Step(name, StepKind.FUNCTION, "f", depends_on=edges, trigger_rule=rule)


def last(*sources: str) -> Step:
    return step("last", *sources, rule=TriggerRule.ALL_SUCCESS)


def test_a_failure_behind_the_skip_comes_later() -> None:
    run = MemoryRun([step("skipped"), step("failed", "skipped"), last("skipped", "failed")])
    run.end("skipped", S.SKIPPED)
    run.end("failed", S.FAILED)
    assert run.statuses["last"] is S.SKIPPED


def test_a_failure_before_the_skip_wins() -> None:
    run = MemoryRun([step("failed"), step("skipped", "failed"), last("skipped", "failed")])
    run.end("failed", S.FAILED)
    run.end("skipped", S.SKIPPED)
    assert run.statuses["last"] is S.UPSTREAM_FAILED


@pytest.mark.parametrize("order", [("skipped", "failed"), ("failed", "skipped")])
def test_a_failure_beside_the_skip_wins_in_either_order(order: tuple[str, str]) -> None:
    run = MemoryRun([step("skipped"), step("failed"), last("skipped", "failed")])
    for name in order:
        run.end(name, S.SKIPPED if name == "skipped" else S.FAILED)
    assert run.statuses["last"] is S.UPSTREAM_FAILED


def test_every_failure_must_come_later() -> None:
    steps = [step("skipped"), step("behind", "skipped"), step("beside"), last("skipped", "behind", "beside")]
    run = MemoryRun(steps)
    for name, end in (("skipped", S.SKIPPED), ("behind", S.FAILED), ("beside", S.FAILED)):
        run.end(name, end)
    assert run.statuses["last"] is S.UPSTREAM_FAILED


def test_a_skip_by_rule_counts_from_the_end_that_decided_it() -> None:
    """`passed over` is skipped as `first` succeeds, which is before `failed` begins."""
    passed_over = step("passed over", "first", rule=TriggerRule.ALL_SKIPPED)
    run = MemoryRun([step("first"), passed_over, step("failed", "first"), last("passed over", "failed")])
    run.end("first", S.SUCCEEDED)
    run.end("failed", S.FAILED)
    assert run.statuses["last"] is S.SKIPPED


def test_a_step_that_may_start_at_the_first_of_several_hides_what_came_before_it() -> None:
    early = step("failed", "skipped", "other", rule=TriggerRule.ONE_SUCCESS)
    run = MemoryRun([step("skipped"), step("other"), early, last("skipped", "failed")])
    for name, end in (("skipped", S.SKIPPED), ("other", S.SUCCEEDED), ("failed", S.FAILED)):
        run.end(name, end)
    assert run.statuses["last"] is S.UPSTREAM_FAILED


def test_what_all_of_several_have_in_common_came_before_it_all_the_same() -> None:
    early = step("failed", "left", "right", rule=TriggerRule.ONE_SUCCESS)
    steps = [step("skipped"), step("left", "skipped"), step("right", "skipped"), early, last("skipped", "failed")]
    run = MemoryRun(steps)
    ends = {"skipped": S.SKIPPED, "left": S.SUCCEEDED, "failed": S.FAILED}
    for name, end in ends.items():
        run.end(name, end)
    assert run.statuses["right"] is S.READY, "still open when the last step is decided"
    assert run.statuses["last"] is S.SKIPPED


def test_a_past_of_ten_thousand_steps_is_looked_through() -> None:
    chain = [step("s0"), *(step(f"s{i}", f"s{i - 1}") for i in range(1, 10_000))]
    run = MemoryRun([*chain, last("s0", "s9999")])
    for i in range(9_999):
        run.end(f"s{i}", S.SKIPPED)
    tracemalloc.start()
    run.end("s9999", S.FAILED)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert run.statuses["last"] is S.SKIPPED
    assert most < 20_000_000
