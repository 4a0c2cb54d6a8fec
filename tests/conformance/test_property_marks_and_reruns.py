"""Random workflows under an operator who marks steps at any moment, and reruns runs from any step."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from orchestrator import testing
from orchestrator.domain.states import STEP_TERMINAL, RunStatus, StepStatus
from orchestrator.errors import Conflict
from orchestrator.services.cancel import cancel
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.rerun import rerun
from orchestrator.services.retry import retry
from orchestrator.testing import Sandbox
from tests.conformance.profile import examples
from tests.graphs import Workflow, workflows
from tests.scripted import Script
from tests.watching import Watch, check_tallies

pytestmark = pytest.mark.timeout(900)  # a failing example is made small first
ACTS = ("step", "step", "mark", "mark", "hold", "release", "cancel", "retry")


class Operator:
    """Does one act after the other to a run, some of which are refused."""

    def __init__(self, box: Sandbox, workflow: Workflow, choose: Callable[[int], int]) -> None:
        self.box, self.choose = box, choose
        self.watch = Watch(box, workflow.document)
        self.run_id = self.watch.run_id = box.start(workflow.document)
        self.names = [step["name"] for step in workflow.document["steps"]]
        self.marked: dict[str, str] = {}

    def act(self, name: str) -> None:
        try:
            getattr(self, name)()
        except Conflict as refused:
            note(f"{name}: {refused}")
        self.watch()

    def step(self) -> None:
        self.box.step(self.choose)

    def mark(self) -> None:
        name = self.names[self.choose(len(self.names))]
        status = (StepStatus.SUCCEEDED, StepStatus.SKIPPED)[self.choose(2)]
        with self.watch.operators_mark():
            mark(self.box.engine, self.run_id, name, status, force=True)
        self.marked[name] = status
        note(f"marked {name} {status}")

    def hold(self) -> None:
        hold(self.box.engine, self.run_id, self.names[self.choose(len(self.names))])

    def release(self) -> None:
        release(self.box.engine, self.run_id, self.names[self.choose(len(self.names))])

    def cancel(self) -> None:
        cancel(self.box.engine, self.run_id)

    def retry(self) -> None:
        with self.watch.operators_retry():
            retry(self.box.engine, self.run_id)

    def end(self) -> None:
        """Let go of what is held, and work to the end."""
        for name in self.names:
            try:
                release(self.box.engine, self.run_id, name)
            except Conflict:
                continue
        self.box.drive(self.run_id, self.choose, self.watch)
        self.watch()


@examples(80)
@given(workflows(most=6), st.lists(st.sampled_from(ACTS), max_size=14), st.data())
def test_a_run_whose_steps_are_marked_at_any_moment_ends_with_right_tallies(
    workflow: Workflow, acts: list[str], data: st.DataObject
) -> None:
    script = Script(workflow.outcomes)
    with testing.sandbox(script.functions) as box:
        operator = Operator(box, workflow, lambda count: data.draw(st.integers(0, count - 1)))
        for name in acts:
            operator.act(name)
        operator.end()
        result = box.result(operator.run_id)
        assert RunStatus(result.status).terminal
        assert all(StepStatus(step.status) in STEP_TERMINAL for step in result.steps.values())
        # One marked skipped is opened again by a mark or a retry of what it depends on.
        for name, status in operator.marked.items():
            assert result.steps[name].status == status or status == StepStatus.SKIPPED


@examples(80)
@given(workflows(most=6), st.data())
def test_a_rerun_from_any_step_keeps_the_others_and_ends_with_right_tallies(
    workflow: Workflow, data: st.DataObject
) -> None:
    script = Script(workflow.outcomes)
    with testing.sandbox(script.functions) as box:
        run_id = box.start(workflow.document)
        box.drive(run_id)
        first = box.result(run_id)
        plan = Watch(box, workflow.document).plan
        chosen = plan.steps[data.draw(st.integers(0, len(plan.steps) - 1))]
        ran = len(script.ran)
        made = rerun(box.engine, run_id, from_steps=chosen.name)
        check_tallies(box.connection, plan, made.run_id)
        box.drive(made.run_id, check=lambda _: check_tallies(box.connection, plan, made.run_id))
        check_tallies(box.connection, plan, made.run_id)
        second = box.result(made.run_id)
        assert RunStatus(second.status).terminal
        again = {chosen.position} | {s.position for s in plan.steps if first.steps[s.name].status == "canceled"}
        for step in plan.steps:
            if not again.isdisjoint(step.sources):
                again.add(step.position)
        kept = {s.name for s in plan.steps if s.position not in again}
        assert not kept & set(script.ran[ran:])
        assert {n: (second.steps[n].status, second.steps[n].reason, second.steps[n].output) for n in kept} == {
            n: (first.steps[n].status, first.steps[n].reason, first.steps[n].output) for n in kept
        }
