"""Random workflows under random hands: cancels, pauses, lost workers, late results, doubled messages, retries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from orchestrator import testing
from orchestrator.domain.states import STEP_TERMINAL, StepStatus
from tests.conformance.profile import examples
from tests.graphs import Workflow, workflows
from tests.operating import Operating
from tests.scripted import Script

pytestmark = pytest.mark.timeout(900)  # a failing example is made small first
_WORK = ["take", "take", "take", "finish", "finish", "tick"]
_LOSSES = ["lose", "fall_silent", "come_late"]
_HOLDS = ["pause", "resume", "hold", "release"]
_CANCELS = ["cancel", "cancel_by_force"]


def some_of(*acts: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from([act for group in acts for act in group]), max_size=14)


def chooser(data: st.DataObject) -> Callable[[int], int]:
    return lambda count: data.draw(st.integers(0, count - 1))


def operated(workflow: Workflow, acts: list[str], data: st.DataObject, then: Callable[[Operating], None]) -> None:
    script = Script(workflow.outcomes)
    with testing.sandbox(script.functions) as box:
        run = Operating(box, workflow, script)
        for act in acts:
            getattr(run, act)(chooser(data))
            run.watch()
        run.go_on(chooser(data))
        note(f"ran: {script.ran}\nengine: {run.ends()}")
        then(run)


def agrees_and_is_over(run: Operating) -> None:
    status, ends = run.ends()
    assert status in ("succeeded", "failed", "canceled")
    assert all(StepStatus(end) in STEP_TERMINAL for end, _ in ends.values())
    assert run.agreed(), [(r.run, r.status, r.reason) for r in run.references]


@examples(60)
@given(workflows(most=6), some_of(_WORK, _HOLDS), st.data())
def test_pausing_and_holding_change_no_end(workflow: Workflow, acts: list[str], data: st.DataObject) -> None:
    operated(workflow, acts, data, agrees_and_is_over)


@examples(60)
@given(workflows(most=6), some_of(_WORK, _CANCELS, _HOLDS), st.data())
def test_a_run_canceled_at_any_moment_ends_right(workflow: Workflow, acts: list[str], data: st.DataObject) -> None:
    operated(workflow, acts, data, agrees_and_is_over)


@examples(60)
@given(workflows(most=6), some_of(_WORK, _LOSSES), st.data())
def test_lost_attempts_are_run_again_and_late_results_change_nothing(
    workflow: Workflow, acts: list[str], data: st.DataObject
) -> None:
    operated(workflow, acts, data, agrees_and_is_over)


@examples(60)
@given(workflows(most=6), some_of(_WORK, _LOSSES, _HOLDS, _CANCELS), st.data())
def test_everything_at_once_ends_right(workflow: Workflow, acts: list[str], data: st.DataObject) -> None:
    operated(workflow, acts, data, agrees_and_is_over)


@examples(60)
@given(workflows(most=6), some_of(_WORK, _CANCELS), st.data())
def test_an_operators_retry_runs_what_failed_and_nothing_that_succeeded(
    workflow: Workflow, acts: list[str], data: st.DataObject
) -> None:
    # Each step fails at most once, so that what is tried again succeeds.
    once = replace(workflow, outcomes={name: done[:1] for name, done in workflow.outcomes.items()})

    def go_on(run: Operating) -> None:
        agrees_and_is_over(run)
        if run.ends()[0] == "succeeded":
            return
        ran_before = len(run.script.ran)
        done = run.retry()
        run.go_on(chooser(data))
        assert not done & set(run.script.ran[ran_before:])
        agrees_and_is_over(run)

    operated(once, acts, data, go_on)
