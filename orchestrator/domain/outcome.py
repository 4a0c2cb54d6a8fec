"""What an attempt ended as, and what follows from it: one value, decided apart from how it is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from orchestrator.domain.definition import OnLost, Retry, Step, StepKind
from orchestrator.domain.retry import delay_after, retryable
from orchestrator.domain.states import Reason, StepStatus


class OutcomeKind(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # raised, or gave something that cannot be stored
    SKIPPED = "skipped"  # raised Skip
    RETRY_LATER = "retry_later"  # raised RetryLater
    TIMED_OUT = "timed_out"
    LOST = "lost"  # its worker died or fell silent
    CANCELED = "canceled"
    SUSPENDED = "suspended"  # no end: it goes on waiting for something, and holds no worker


@dataclass(frozen=True, slots=True)
class Suspension:
    """What an attempt waits for: `wait` is stored, and tells people (`for` is one word) and the step's second half.

    `seconds`: how long at most; None: until something wakes it. `also` is done in the transaction that suspends it,
    given its connection; True: what it waits for has come already. `then` is done after its commit, also when the
    attempt ended instead; it gives queues to dispatch.
    """

    wait: Mapping[str, Any]
    seconds: float | None = None
    also: Callable[[Any], bool] | None = None
    then: Callable[[], frozenset[str]] | None = None


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as it is stored and shown. `classes` are the exception's class and its bases, by name."""

    type: str
    message: str
    traceback: str | None = None
    classes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"type": self.type, "message": self.message}
        return shown | ({"traceback": self.traceback} if self.traceback else {})


@dataclass(frozen=True, slots=True)
class Keep:
    """A result's place: the JSON text of its key, and for how many seconds it may be used again."""

    key: str
    ttl: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one attempt. `output_json` is the JSON text of `output`; `final` forbids another attempt.

    `keep`: under what its output may be used again; `cached`: it is one that was used again.
    """

    kind: OutcomeKind
    output: Any = None
    output_json: str | None = None
    error: ErrorInfo | None = None
    retry_after: float | None = None
    final: bool = False
    suspension: Suspension | None = None
    keep: Keep | None = None
    cached: bool = False

    @classmethod
    def suspended(
        cls,
        wait: Mapping[str, Any],
        seconds: float | None = None,
        also: Callable[[Any], bool] | None = None,
        then: Callable[[], frozenset[str]] | None = None,
    ) -> Outcome:
        return cls(OutcomeKind.SUSPENDED, suspension=Suspension(wait, seconds, also, then))

    @classmethod
    def succeeded(cls, output: Any, output_json: str) -> Outcome:
        return cls(OutcomeKind.SUCCEEDED, output, output_json)

    def stored_as(self, output: Any, output_json: str | None) -> Outcome:
        """The same with a reference in place of what it gave."""
        return replace(self, output=output, output_json=output_json)

    @classmethod
    def failed(cls, error: ErrorInfo, *, final: bool = False) -> Outcome:
        return cls(OutcomeKind.FAILED, error=error, final=final)

    def as_asked(self, *, cancel_requested: bool) -> Outcome:
        """The same; but a function that ends as canceled although nobody asked for that has failed."""
        if self.kind is OutcomeKind.CANCELED and not cancel_requested:
            return replace(self, kind=OutcomeKind.FAILED)
        return self

    @classmethod
    def timed_out(cls, seconds: float) -> Outcome:
        message = f"the attempt ran longer than its timeout of {seconds:g} s"
        return cls(OutcomeKind.TIMED_OUT, error=ErrorInfo("Timeout", message, classes=("Timeout", "TimeoutError")))

    @classmethod
    def lost(cls, how: str) -> Outcome:
        return cls(OutcomeKind.LOST, error=ErrorInfo("WorkerLost", how, classes=("WorkerLost",)))


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """What the verdict needs to know of the step's past.

    `attempt` counts this one, lost ones apart; `total_seconds_left` is None without a `total_timeout`.
    """

    attempt: int
    max_attempts: int
    lost_count: int  # this one included when it was lost
    max_lost: int
    cancel_requested: bool = False
    total_seconds_left: float | None = None
    retry_wanted: bool = True  # what `retry.while` said


@dataclass(frozen=True, slots=True)
class End:
    """The step is over."""

    status: StepStatus
    reason: Reason | None = None
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """The step runs again after `delay` seconds."""

    delay: float
    error: ErrorInfo | None = None


Verdict = End | Again


def verdict(step: Step, facts: AttemptFacts, outcome: Outcome, spread: float) -> Verdict:
    """What follows from `outcome`; `spread` in [0, 1) is the random number behind jitter."""
    match outcome.kind:
        case OutcomeKind.SUCCEEDED:
            return End(StepStatus.SUCCEEDED)
        case OutcomeKind.SKIPPED:
            reason = Reason.TIMEOUT if step.kind is StepKind.WAIT_FOR else Reason.FUNCTION
            return End(StepStatus.SKIPPED, reason, outcome.error)
        case OutcomeKind.CANCELED:
            return End(StepStatus.CANCELED, Reason.CANCELED, outcome.error)
        case OutcomeKind.LOST:
            return _after_loss(step, facts, outcome)
        case _:
            return _after_failure(step, facts, outcome, spread)


def _after_loss(step: Step, facts: AttemptFacts, outcome: Outcome) -> Verdict:
    """A lost attempt does not use up `max_attempts`; after `max_lost` losses the step is poison."""
    if facts.cancel_requested:
        return End(StepStatus.CANCELED, Reason.CANCELED, outcome.error)
    if step.on_lost is OnLost.FAIL:
        return End(StepStatus.FAILED, Reason.LOST, outcome.error)
    if facts.lost_count >= facts.max_lost:
        message = f"its worker was lost {facts.lost_count} times while running it; it is not tried again (poison)"
        return End(StepStatus.FAILED, Reason.POISON, ErrorInfo("Poison", message, classes=("Poison",)))
    if _spent(facts, 0.0):
        return _total_timeout()
    return Again(0.0, outcome.error)


def _after_failure(step: Step, facts: AttemptFacts, outcome: Outcome, spread: float) -> Verdict:
    error = outcome.error
    timed_out = outcome.kind is OutcomeKind.TIMED_OUT
    if timed_out and _spent(facts, 0.0):
        return _total_timeout(error)
    reason = Reason.TIMEOUT if timed_out else Reason.ERROR
    if facts.cancel_requested or outcome.final or facts.attempt >= facts.max_attempts or not facts.retry_wanted:
        return End(StepStatus.FAILED, reason, error)
    policy = step.retry or Retry()
    if not retryable(policy, error.classes if error else ()):
        return End(StepStatus.FAILED, reason, error)
    wait = outcome.retry_after
    if wait is None:
        wait = delay_after(policy, facts.attempt, spread)
    if _spent(facts, wait):
        return _total_timeout(error)
    return Again(wait, error)


def _spent(facts: AttemptFacts, wait: float) -> bool:
    return facts.total_seconds_left is not None and facts.total_seconds_left <= wait


def _total_timeout(last: ErrorInfo | None = None) -> End:
    because = f"; the last attempt: {last.type}: {last.message}" if last else ""
    message = f"total_timeout leaves no time for another attempt{because}"
    return End(StepStatus.FAILED, Reason.TOTAL_TIMEOUT, ErrorInfo("TotalTimeout", message, classes=("TotalTimeout",)))
