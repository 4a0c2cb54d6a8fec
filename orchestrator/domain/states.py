"""Run and step states, and the one table of transitions between them."""

from __future__ import annotations

from enum import StrEnum


class RunStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    CANCELING = "canceling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def terminal(self) -> bool:
        return self in RUN_TERMINAL


class StepStatus(StrEnum):
    PENDING = "pending"
    READY = "ready"
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"
    SKIPPED = "skipped"
    UPSTREAM_FAILED = "upstream_failed"

    @property
    def terminal(self) -> bool:
        return self in STEP_TERMINAL


RUN_TERMINAL = frozenset({RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELED})
RUN_OPEN = frozenset(RunStatus) - RUN_TERMINAL
STEP_TERMINAL = frozenset(
    {
        StepStatus.SUCCEEDED,
        StepStatus.FAILED,
        StepStatus.CANCELED,
        StepStatus.SKIPPED,
        StepStatus.UPSTREAM_FAILED,
    }
)
STEP_OPEN = frozenset(StepStatus) - STEP_TERMINAL

_R, _S = RunStatus, StepStatus

# A paused run is resumed before it ends, and whatever cancels a run lets it be `canceling` first.
RUN_TRANSITIONS: dict[RunStatus, frozenset[RunStatus]] = {
    _R.PENDING: frozenset({_R.RUNNING, _R.CANCELING, _R.CANCELED, _R.FAILED}),
    _R.RUNNING: frozenset({_R.PAUSED, _R.CANCELING, _R.SUCCEEDED, _R.FAILED}),
    _R.PAUSED: frozenset({_R.RUNNING, _R.CANCELING}),
    _R.CANCELING: frozenset({_R.CANCELED}),
    _R.SUCCEEDED: frozenset(),
    _R.FAILED: frozenset(),
    _R.CANCELED: frozenset(),
}

# A step is `running` without having been queued when a worker takes it itself; and from `pending` on when that worker
# has completed its last source in the same transaction (docs/adr/0013).
STEP_TRANSITIONS: dict[StepStatus, frozenset[StepStatus]] = {
    _S.PENDING: frozenset({_S.READY, _S.RUNNING, _S.SKIPPED, _S.UPSTREAM_FAILED, _S.FAILED, _S.CANCELED, _S.SUCCEEDED}),
    _S.READY: frozenset({_S.QUEUED, _S.RUNNING, _S.FAILED, _S.CANCELED}),
    _S.QUEUED: frozenset({_S.RUNNING, _S.READY, _S.FAILED, _S.CANCELED}),
    _S.RUNNING: frozenset({_S.SUCCEEDED, _S.FAILED, _S.CANCELED, _S.SKIPPED, _S.READY, _S.WAITING}),
    _S.WAITING: frozenset({_S.READY, _S.RUNNING, _S.SUCCEEDED, _S.FAILED, _S.CANCELED, _S.SKIPPED}),
    _S.SUCCEEDED: frozenset(),
    _S.FAILED: frozenset(),
    _S.CANCELED: frozenset(),
    _S.SKIPPED: frozenset(),
    _S.UPSTREAM_FAILED: frozenset(),
}

# What an operator's retry or mark may do on top (audited); nothing else leaves a terminal state.
RUN_REOPENS: dict[RunStatus, frozenset[RunStatus]] = {
    _R.FAILED: frozenset({_R.RUNNING}),
    _R.CANCELED: frozenset({_R.RUNNING}),
}
STEP_REOPENS: dict[StepStatus, frozenset[StepStatus]] = {status: frozenset({_S.PENDING}) for status in STEP_TERMINAL}

# What an operator's mark may do on top (audited): a step ends as the operator says.
STEP_MARKS: dict[StepStatus, frozenset[StepStatus]] = {
    status: frozenset({_S.SUCCEEDED, _S.SKIPPED}) - {status} for status in StepStatus if status is not _S.SUCCEEDED
}


class Reason(StrEnum):
    """Why a step ended as it did, where the status alone does not say."""

    CONDITION = "condition"  # its `when` was false
    CONDITION_ERROR = "condition_error"  # its `when` or an edge's `when` could not be evaluated
    NOT_TRIGGERED = "not_triggered"  # its edges or trigger rule did not ask for it
    UPSTREAM = "upstream"  # a source failed
    UNREACHABLE = "unreachable"  # join no longer reachable, with on_unreachable: fail
    FUNCTION = "function"  # the function raised Skip
    ERROR = "error"  # the function raised, or its input or output could not be made
    CACHED = "cached"  # an earlier result of the same function and key was taken
    TIMEOUT = "timeout"  # one attempt ran past `timeout`
    TOTAL_TIMEOUT = "total_timeout"
    LOST = "lost"  # the worker died and on_lost is fail
    POISON = "poison"  # lost more often than max_lost
    ABORT = "abort"  # a step with on_error: abort failed
    DRAIN = "drain"  # failure_mode: drain
    RUN_FAILED = "run_failed"  # failure_mode: cancel
    CANCELED = "canceled"  # an operator canceled the run
    DEADLINE = "deadline"  # the run's own timeout
    MARKED = "marked"  # an operator said so
    FAIL_FAST = "fail_fast"  # another item of the same step failed
    LEFT = "left"  # the function that had begun it ended without it
