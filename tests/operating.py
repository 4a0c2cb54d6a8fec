"""What workers and operators may do to a run at any moment, each act told to the reference too."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from orchestrator.domain.outcome import Outcome
from orchestrator.domain.states import STEP_OPEN, STEP_TERMINAL, StepStatus
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import Claimed, claim
from orchestrator.services.coordinate import tick
from orchestrator.services.hold import hold, release
from orchestrator.services.pause import pause, resume
from orchestrator.services.retry import retry
from orchestrator.store.transition import Lease
from orchestrator.testing import Sandbox
from tests.graphs import Workflow
from tests.hands import finish
from tests.reference import Reference, agree
from tests.scripted import Script
from tests.watching import Watch

LEASE = 15.0
Choose = Callable[[int], int]


class Operating:
    """A run in a sandbox with several workers (`held` are the attempts under way) and an operator."""

    def __init__(self, box: Sandbox, workflow: Workflow, script: Script) -> None:
        self.box, self.engine, self.script = box, box.engine, script
        self.document = workflow.document
        self.watch = Watch(box, workflow.document)
        self.run_id = self.watch.run_id = box.start(workflow.document)
        self.references = [
            Reference(workflow.document, workflow.outcomes, eager=eager, patient=patient)
            for eager, patient in ((False, False), (True, False), (True, True))
        ]
        self.held: list[Claimed] = []
        self.gone: list[Claimed] = []  # attempts whose lease was taken, or that were canceled
        self.on_hold: list[str] = []
        self.earlier: dict[str, tuple[str, str | None]] = {}  # handlers of the run's earlier lives

    # Acts. Each does nothing when there is nothing to do it to.

    def take(self, choose: Choose) -> None:
        """A worker takes a waiting message; the same message claimed once more gives nothing."""
        waiting = self.box._waiting
        if not waiting:
            return
        index = choose(len(waiting))
        message = waiting[index]
        del waiting[index]
        for claimed in claim(self.engine, [message], Lease("one", LEASE)):
            self.held.append(claimed)
            self._tell(Reference.begin, self._name(claimed))
        assert claim(self.engine, [message, message], Lease("two", LEASE)) == []

    def finish(self, choose: Choose) -> None:
        """An attempt under way calls its function and ends."""
        if self.held:
            claimed = self.held.pop(choose(len(self.held)))
            self._settle(claimed)
            self._tell(Reference.finish, self._name(claimed))
            self._drop_fenced()

    def lose(self, choose: Choose) -> None:
        """The worker of an attempt dies and its death is told at once."""
        if self.held:
            claimed = self.held.pop(choose(len(self.held)))
            finish(self.engine, claimed, Outcome.lost("killed"))
            self._tell(Reference.lose, self._name(claimed))
            self.gone.append(claimed)
            self._drop_fenced()

    def fall_silent(self, choose: Choose) -> None:
        """All workers fall silent; the coordinator takes their attempts back, in the graph's order."""
        held, self.held = sorted(self.held, key=lambda claimed: claimed.position), []
        self.box.clock.skip(timedelta(seconds=LEASE + 1))
        for claimed in held:
            if self._status(claimed) == "running":
                self._tell(_lose_if_running, self._name(claimed))
        tick(self.engine)
        self.gone += held

    def come_late(self, choose: Choose) -> None:
        """A worker whose attempt was taken from it comes with a result: nothing changes."""
        if self.gone:
            claimed = self.gone.pop(choose(len(self.gone)))
            before = self.box.result(self.run_id)
            assert finish(self.engine, claimed).stale
            assert self.box.result(self.run_id) == before
            self._tell(_call_in_vain, self._name(claimed))

    def tick(self, choose: Choose) -> None:
        tick(self.engine)

    def pause(self, choose: Choose) -> None:
        if self._run_status() == "running":
            pause(self.engine, self.run_id, reason="lunch")
            self._tell(Reference.pause)

    def resume(self, choose: Choose) -> None:
        if self._run_status() == "paused":
            resume(self.engine, self.run_id)
            self._tell(Reference.resume)

    def hold(self, choose: Choose) -> None:
        """Hold an open step. A `pass` step would end later than the reference says, for that has none to hold it."""
        steps = self.box.result(self.run_id).steps
        could = [n for n in self._functions() if n in steps and steps[n].status in STEP_OPEN and n not in self.on_hold]
        if could:
            self.on_hold.append(could[choose(len(could))])
            hold(self.engine, self.run_id, self.on_hold[-1])

    def release(self, choose: Choose) -> None:
        if self.on_hold:
            release(self.engine, self.run_id, self.on_hold.pop(choose(len(self.on_hold))))

    def _functions(self) -> list[str]:
        return [step["name"] for step in self.document["steps"] if "pass" not in step]

    def cancel(self, choose: Choose, *, force: bool = False) -> None:
        handling = any(name not in self.references[0].steps for name in self.box.result(self.run_id).steps)
        if not handling and self._run_status() in ("running", "paused", "canceling"):
            cancel(self.engine, self.run_id, force=force)
            self._tell(_cancel_by_force if force else Reference.cancel)
            self._drop_fenced()

    def cancel_by_force(self, choose: Choose) -> None:
        self.cancel(choose, force=True)

    # The end.

    def go_on(self, choose: Choose) -> None:
        """Work until the run has ended."""
        self.resume(choose)
        while self.on_hold:
            self.release(choose)
        while self._run_status() not in ("succeeded", "failed", "canceled"):
            self.take(choose)
            if self.held:
                self.finish(choose)
            elif not self.box._waiting:
                assert self.box._wait(self.run_id), "nothing moves the run"
            self.watch()
        self.watch()

    def retry(self) -> set[str]:
        """An operator's retry; the steps that had succeeded."""
        done = {name for name, step in self.box.result(self.run_id).steps.items() if step.status == "succeeded"}
        self.earlier |= {n: end for n, end in self.ends()[1].items() if n not in self.references[0].steps}
        with self.watch.operators_retry():
            retry(self.engine, self.run_id)
        self._tell(Reference.retry)
        return done & self.references[0].steps.keys()

    def ends(self) -> tuple[str, dict[str, tuple[str, str | None]]]:
        result = self.box.result(self.run_id)
        return result.status, {step.name: (step.status, step.reason) for step in result.steps.values()}

    def agreed(self) -> bool:
        """Whether the run and each step ended as a reference says; one that took another way has dropped out.

        Handlers of the run's earlier lives, before an operator's retry, stay as they ended.
        """
        status, ends = self.ends()
        ended = self.references[0].status.keys() | {name for name in ends if name not in self.earlier}
        kept = {name: end for name, end in ends.items() if name in ended}
        assert all(ends[name] == end for name, end in self.earlier.items() if name not in ended)
        return agree(status, kept, self.references)

    def _tell(self, event: Callable[..., None], *facts: str) -> None:
        """Tell the references; those that would not have allowed it drop out, one has to stay."""
        kept, refused = [], None
        for reference in self.references:
            try:
                event(reference, *facts)
                kept.append(reference)
            except AssertionError as error:
                refused = error
        self.references = kept
        if not kept and refused:
            raise refused

    def _drop_fenced(self) -> None:
        """Attempts that were canceled under their workers go on as late ones."""
        fenced = [claimed for claimed in self.held if self._status(claimed) in STEP_TERMINAL]
        self.held = [claimed for claimed in self.held if claimed not in fenced]
        self.gone += fenced

    def _settle(self, claimed: Claimed) -> None:
        finish(self.engine, claimed)

    def _name(self, claimed: Claimed) -> str:
        return self.watch.plan.at(claimed.position).name

    def _status(self, claimed: Claimed) -> StepStatus:
        return StepStatus(self.box.result(self.run_id).steps[self._name(claimed)].status)

    def _run_status(self) -> str:
        return self.box.result(self.run_id).status


def _lose_if_running(reference: Reference, name: str) -> None:
    if reference.status[name] == "running":
        reference.lose(name)


def _call_in_vain(reference: Reference, name: str) -> None:
    reference.calls[name] += 1


def _cancel_by_force(reference: Reference) -> None:
    reference.cancel(force=True)
