"""The one error tree. Every error the product raises on purpose descends from `OrchestratorError`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class OrchestratorError(Exception):
    """Root of the tree. `str(error)` is a sentence for a person: what is wrong, and where."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a document or a value.

    `path` is where (`steps[2].retry.delay`; empty for the whole), `hint` how to mend it.
    """

    path: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{where}{self.message}" + (f" ({self.hint})" if self.hint else "")


class ProblemsError(OrchestratorError):
    """Something a person gave us is wrong in one or more places, all of them listed in `problems`."""

    headline = "invalid"

    def __init__(self, problems: Sequence[Problem], headline: str | None = None) -> None:
        self.problems = tuple(problems)
        self.headline = headline or type(self).headline
        super().__init__(f"{self.headline}: " + "; ".join(map(str, self.problems)))


class InvalidDefinition(ProblemsError):
    """A workflow document that cannot be registered."""

    headline = "the definition is invalid"


class InvalidPack(ProblemsError):
    """A pack that cannot be installed; the paths begin with the file's."""

    headline = "the pack is invalid"


class InvalidInput(ProblemsError):
    """A value that a use case cannot take; above all a run's input that its workflow's `input_schema` refuses."""

    headline = "the input is invalid"


class InvalidConfig(ProblemsError):
    """Settings that cannot be used; all faults are reported at once."""

    headline = "the configuration is invalid"


class ExpressionError(OrchestratorError):
    """A template or expression that cannot be compiled or evaluated."""


class BlobGone(ExpressionError):
    """A value that was put into the blob store is not there any more, or is not what was put there.

    Whatever reads it cannot be evaluated, now or later.
    """


class UnstorableValue(OrchestratorError):
    """A value JSON cannot hold, with the `path` inside it (`$.rows[3].when`)."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        super().__init__(f"{path}: {message}")


class TooLarge(UnstorableValue):
    """A value that makes more bytes of JSON than it may."""


class NotFound(OrchestratorError):
    """No such workflow, run, step or owner."""


def unknown_run(run_id: str) -> NotFound:
    """What to say of an id that no run has."""
    return NotFound(f"there is no run {run_id}")


class Conflict(OrchestratorError):
    """The act does not fit the present state (resuming a run that is not paused)."""


class ChildLoop(Conflict):
    """A run would wait for a child that waits for that run."""


class Unreachable(OrchestratorError):
    """Postgres or the broker cannot be reached."""


class Troubled(Unreachable):
    """A server answers, and cannot do it now (a statement timeout, no memory or disk left): another try may succeed."""


class BlobsAway(Troubled):
    """The blob store cannot be reached, or does not take or give anything now: another try may succeed."""


class Locked(OrchestratorError):
    """Another transaction holds a lock for longer than this one may wait for it."""


class Fail(OrchestratorError):
    """Raised by a step function: fail now, with no further attempts."""


class Skip(OrchestratorError):
    """Raised by a step function: end the step as `skipped`."""


class RetryLater(OrchestratorError):
    """Raised by a step function: run the step again after `after` seconds (its retry delay when None)."""

    def __init__(self, message: str = "retry later", *, after: float | None = None) -> None:
        self.after = after
        super().__init__(message)


class AttemptTimeout(OrchestratorError):
    """Raised inside a step function when its attempt has used up its `timeout`."""


class AttemptCanceled(OrchestratorError):
    """Raised inside a step function whose attempt was canceled or whose lease was lost."""


class StepFailed(OrchestratorError):
    """Raised inside a code-first workflow: a step or call of it has failed for good.

    `step` is its key in the journal, `type` the class of the error it failed with, `told` that error's own message.
    """

    def __init__(self, step: str, type: str, message: str) -> None:
        self.step, self.type, self.told = step, type, message
        super().__init__(f"{step}: {type}: {message}")


class ChildFailed(StepFailed):
    """The same of a child run that has failed."""


class ChildCanceled(StepFailed):
    """The same of a child run that was canceled."""


class WaitTimeout(StepFailed, TimeoutError):
    """The same of an event that did not come in time."""


class WorkflowMisuse(OrchestratorError):
    """A context of a code-first workflow is used where it cannot be, or asked for what it cannot do."""
