"""Random workflows against the plain reference of tests/reference.py, with what must hold after every step.

The examples are the same in every run of the suite (tests/conformance/profile.py has a soak).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from orchestrator import testing
from orchestrator.domain.states import STEP_TERMINAL, StepStatus
from orchestrator.testing import RunResult
from tests.conformance.profile import examples
from tests.graphs import Workflow, workflows
from tests.reference import NotAllowed, Reference, agree
from tests.scripted import Script
from tests.watching import Watch

pytestmark = pytest.mark.timeout(900)  # a failing example is made small first


def any_order(data: st.DataObject) -> Callable[[int], int]:
    return lambda waiting: data.draw(st.integers(0, waiting - 1))


def first_come(waiting: int) -> int:
    return 0


def last_come(waiting: int) -> int:
    return waiting - 1


def played(workflow: Workflow, pick: Callable[[int], int]) -> tuple[RunResult, list[str]]:
    """The run after its end and the steps of its attempts in order; all that must hold is looked at as it goes."""
    script = Script(workflow.outcomes)
    with testing.sandbox(script.functions) as box:
        watch = Watch(box, workflow.document)
        watch.run_id = box.start(workflow.document)
        watch()
        box.drive(watch.run_id, pick, watch)
        watch()
        return box.result(watch.run_id), script.ran


def ends(result: RunResult) -> dict[str, tuple[str, str | None]]:
    return {step.name: (step.status, step.reason) for step in result.steps.values()}


# When a join that will not be met is told so, as (eager, patient): a run stopped meanwhile shows the difference.
WAYS = ((False, False), (True, False), (True, True))


def replayed(workflow: Workflow, ran: list[str], *, eager: bool, patient: bool = False) -> Reference:
    reference = Reference(workflow.document, workflow.outcomes, eager=eager, patient=patient)
    for name in ran:
        reference.attempt(name)
    return reference


def allowed(workflow: Workflow, ran: list[str], *, eager: bool, patient: bool) -> Reference | None:
    """The reference, unless it would not have run these steps in this order."""
    try:
        return replayed(workflow, ran, eager=eager, patient=patient)
    except NotAllowed:
        return None


def agrees(result: RunResult, *references: Reference) -> bool:
    note(f"references: {[(reference.run, reference.ends) for reference in references]}")
    return agree(result.status, ends(result), references)


def nothing_is_open(result: RunResult) -> bool:
    steps = all(StepStatus(step.status) in STEP_TERMINAL for step in result.steps.values())
    return steps and result.status in ("succeeded", "failed", "canceled")


@examples(160)
@given(workflows(stops=False), st.data())
def test_a_run_ends_as_the_reference_says(workflow: Workflow, data: st.DataObject) -> None:
    result, ran = played(workflow, any_order(data))
    note(f"ran: {ran}\nengine: {result.status} {ends(result)}")
    assert nothing_is_open(result)
    assert agrees(result, replayed(workflow, ran, eager=False))
    assert agrees(result, replayed(workflow, ran, eager=True))


@examples(160)
@given(workflows(), st.data())
def test_a_run_that_failures_may_stop_ends_as_the_reference_says(workflow: Workflow, data: st.DataObject) -> None:
    """When such a run stops, a step that will not run may or may not have been told so yet."""
    result, ran = played(workflow, any_order(data))
    note(f"ran: {ran}\nengine: {result.status} {ends(result)}")
    assert nothing_is_open(result)
    tried = [allowed(workflow, ran, eager=eager, patient=patient) for eager, patient in WAYS]
    ways = [reference for reference in tried if reference is not None]
    assert agrees(result, *ways)


@examples(50)
@given(workflows(stops=False), st.data())
def test_how_a_step_ends_does_not_depend_on_the_order(workflow: Workflow, data: st.DataObject) -> None:
    one, _ = played(workflow, first_come)
    for pick in (last_come, any_order(data)):
        other, _ = played(workflow, pick)
        assert (other.status, ends(other)) == (one.status, ends(one))


@examples(40)
@given(workflows(), st.data())
def test_every_attempt_is_in_the_history_with_its_end(workflow: Workflow, data: st.DataObject) -> None:
    result, ran = played(workflow, any_order(data))
    for name, step in result.steps.items():
        assert step.attempts == len(step.history) == ran.count(name)
        assert [entry["number"] for entry in step.history] == list(range(1, step.attempts + 1))
        known = {"failed": "failed", "fatal": "failed", "later": "retry_later"}
        script = [known.get(done, done) for done in workflow.outcomes.get(name, [])]
        expected = (script + ["succeeded"] * step.attempts)[: step.attempts]
        assert [entry["outcome"] for entry in step.history] == expected
