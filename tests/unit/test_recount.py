"""Tallies counted afresh equal those that a cascade keeps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.definition import Edge, EdgeOn, OnError, Step, StepKind, TriggerRule
from orchestrator.domain.rules import Tally
from orchestrator.domain.states import STEP_TERMINAL, StepStatus
from tests.memory import MemoryRun

S = StepStatus


def step(name: str, *edges: Edge, **options: object) -> Step:
    return Step(name, StepKind.FUNCTION, function="f", depends_on=edges, **options)  # type: ignore[arg-type]


@st.composite
def graphs(draw: st.DrawFn) -> list[Step]:
    """Steps with joins over edges of all kinds, and with trigger rules."""
    steps: list[Step] = []
    for i in range(draw(st.integers(2, 8))):
        above = st.sampled_from([s.name for s in steps] or ["-"])
        conditions = st.sampled_from([None, None, "yes", "no", "broken"])
        joined = st.lists(st.builds(Edge, above, st.sampled_from(EdgeOn), conditions), max_size=4)
        plain = st.lists(st.builds(Edge, above), max_size=4)
        ruled = draw(st.booleans())
        edges = draw(plain if ruled else joined) if steps else []
        options = {"trigger_rule": draw(st.sampled_from(TriggerRule))} if ruled else {}
        options |= {} if ruled else {"join": draw(st.sampled_from(["all", "any"]))}
        steps.append(step(f"s{i}", *edges, on_error=draw(st.sampled_from(OnError)), **options))
    return steps


@given(graphs(), st.data())
def test_kept_tallies_equal_a_recount_after_every_end(steps: list[Step], data: st.DataObject) -> None:
    run = MemoryRun(steps)
    while run.ready:
        run.end(data.draw(st.sampled_from(run.ready)), data.draw(st.sampled_from([S.SUCCEEDED, S.FAILED, S.SKIPPED])))
        assert run.recounted() == run.tallies
    assert all(status in STEP_TERMINAL for status in run.statuses.values()), "a step is open and none can move it"


def test_a_source_that_is_open_again_counts_as_open_and_its_conditions_are_dropped() -> None:
    run = MemoryRun([step("a"), step("b", Edge("a", when="yes"))])
    run.end("a", S.SUCCEEDED)
    assert run.tallies[1] == (Tally(1, 0, satisfied=1), {"0": True})
    run.rows[0] = MemoryRun([step("a")]).rows[0]
    assert run.recounted()[1] == (Tally(1, 1), {})


def test_a_condition_that_failed_is_counted_once_a_source() -> None:
    broken = step("b", Edge("a", when="broken"), Edge("a", EdgeOn.COMPLETE, when="broken"), Edge("c"))
    run = MemoryRun([step("a"), step("c"), broken])
    run.end("a", S.SUCCEEDED)
    b = run.plan.positions["b"]
    assert run.tallies[b][0].edge_errors == 1
    assert run.recounted()[b][0].edge_errors == 1


def test_a_cascade_follows_steps_that_end_without_running() -> None:
    run = MemoryRun([step("a"), step("b", Edge("a")), step("c", Edge("b")), step("d", Edge("c"))])
    result = run.end("a", S.FAILED)
    assert [run.plan.at(change.position).name for change in result.changes] == ["b", "c", "d"]
    assert set(run.statuses.values()) == {S.FAILED, S.UPSTREAM_FAILED}
    assert result.may_be_over


def test_rows_are_asked_for_in_ascending_position_and_once() -> None:
    names = [f"s{i}" for i in range(6)]
    run = MemoryRun([step(name, *(Edge(above) for above in names[:i])) for i, name in enumerate(names)])
    run.asked.clear()
    run.end("s0", S.FAILED)
    assert run.asked == [1, 2, 3, 4, 5]


def test_a_step_that_waits_for_nothing_starts_with_the_run() -> None:
    run = MemoryRun([step("a"), step("b", Edge("a"), trigger_rule=TriggerRule.ALWAYS)])
    assert run.ready == ["a", "b"]
