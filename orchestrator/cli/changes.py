"""What changed between two looks at a run."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.services.look import Look
from orchestrator.store.reads import StepBrief
from orchestrator.store.reads.page import iso


class Changes:
    """Remembers what was told of each step and of the run."""

    def __init__(self) -> None:
        self._steps: dict[int, tuple[StepStatus, int]] = {}
        self._run: tuple[RunStatus, RunStatus | None] | None = None

    def steps(self, look: Look) -> list[StepBrief]:
        """Steps that changed since the last call, in the order they did; at first those that were begun."""
        changed = [step for step in look.steps if self._steps.get(step.position, (StepStatus.PENDING, 0)) != _of(step)]
        self._steps |= {step.position: _of(step) for step in changed}
        return sorted(changed, key=lambda step: (changed_at(step, look.run.now), step.position))

    def run(self, look: Look) -> datetime | None:
        """When the run's own state changed since the last call, as far as its row tells; None when it did not."""
        run = look.run
        state = (run.status, run.closing)
        if state == self._run:
            return None
        unchanged_since_its_start = self._run is None and state == (RunStatus.RUNNING, None)
        self._run = state
        began = run.started_at if unchanged_since_its_start else None
        return run.finished_at or run.paused_at or began or run.now


def step_json(step: StepBrief, look: Look) -> dict[str, Any]:
    """A step's change as JSON."""
    error = {"type": step.error_type, "message": step.error_message} if step.error_type else None
    return {
        "kind": "step",
        "at": iso(changed_at(step, look.run.now)),
        "run_id": look.run.id,
        "step": step.name,
        "status": step.status,
        "reason": step.reason,
        "attempt": step.attempt,
        "max_attempts": step.max_attempts,
        "next_attempt_at": iso(step.next_attempt_at),
        "progress": step.progress,
        "error": error,
    }


def run_json(look: Look, at: datetime) -> dict[str, Any]:
    """The run's change `at` a moment as JSON; the last line of a stream has an ended status."""
    run = look.run
    return {
        "kind": "run",
        "at": iso(at),
        "run_id": run.id,
        "workflow": run.workflow,
        "status": run.status,
        "pause_reason": run.pause_reason,
        "error": run.error,
        "counts": dict(look.counts),
    }


def changed_at(step: StepBrief, now: datetime) -> datetime:
    """When the step came into its state, as far as its row tells."""
    begun = step.started_at if step.status is StepStatus.RUNNING else None
    return step.finished_at or begun or now


def _of(step: StepBrief) -> tuple[StepStatus, int]:
    return step.status, step.attempt
