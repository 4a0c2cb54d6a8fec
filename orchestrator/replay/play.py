"""One turn of a workflow's function: from its beginning, through what is journaled, to where it waits or ends."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.context import AttemptLink
from orchestrator.domain.values import describe_exception, storable
from orchestrator.errors import AttemptCanceled, AttemptTimeout, Fail, StepFailed, UnstorableValue
from orchestrator.replay.context import WorkflowContext
from orchestrator.replay.journal import Changed, Continued, History, Journal, Stop, Suspended
from orchestrator.replay.program import Program

_STOPPED = (AttemptTimeout, AttemptCanceled, KeyboardInterrupt, SystemExit)
_SWALLOWED = "the function caught what suspends it (except BaseException?); what it did after that is dropped"


@dataclass(frozen=True, slots=True)
class Returned:
    """The function has ended well."""

    value: Any
    text: str


@dataclass(frozen=True, slots=True)
class Raised:
    """The function has failed: with what it raised (as `describe_exception` tells it); `final` forbids another try."""

    error: Mapping[str, Any]
    final: bool = False


Turn = Returned | Raised | Suspended | Continued | Stop


def play(
    call: Callable[..., Any],
    history: History,
    journal: Journal,
    link: AttemptLink,
    log: logging.Logger,
    *,
    workflow: str,
    attempt: int = 1,
    max_bytes: int = 1 << 20,
    most_given: int = 1 << 20,
) -> Turn:
    """Run the function for a turn; `most_given` bounds, in bytes, what it and its steps return, `max_bytes` all else.

    What the guard of the attempt raises (`AttemptTimeout`, ...) is let through."""
    program = Program(history, journal)
    ctx = WorkflowContext(
        program, link, log, workflow=workflow, attempt=attempt, max_bytes=max_bytes, most_given=most_given
    )
    try:
        turn = _end(call, ctx, program, most_given)
    finally:
        program.over = True
    if program.stop is None:
        return turn
    if turn is not program.stop:
        log.warning(_SWALLOWED)
    return _told(program.stop)


def _end(call: Callable[..., Any], ctx: WorkflowContext, program: Program, max_bytes: int) -> Turn:
    """What the function came to; what it left unstored is stored."""
    try:
        value, text = storable(program.history.input, max_bytes=1 << 62)
        try:
            turn = _returned(call(ctx, value), max_bytes)
            how = "ends"
        except (Stop, *_STOPPED):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a user's function raises is the run's end
            turn = _raised(error)
            how = f"raises {turn.error['type']}: {turn.error['message']:.200}"
        if program.stop is None:
            _finish(program, how, turn)
            program.store()
        return turn
    except Stop as stop:
        return stop


def _finish(program: Program, how: str, turn: Turn) -> None:
    try:
        program.finish(how)
    except Changed as changed:
        changed.traceback = turn.error.get("traceback") if isinstance(turn, Raised) else None
        raise


def _returned(value: Any, max_bytes: int) -> Turn:
    try:
        return Returned(*storable(value, max_bytes=max_bytes))
    except UnstorableValue as error:
        return _final("UnstorableValue", f"what it returned cannot be stored: {error}")


def _raised(error: BaseException) -> Raised:
    """What a step failed with, where the function let that through: as it would be without the function."""
    told = describe_exception(error)
    if isinstance(error, StepFailed):
        told |= {
            "type": error.type,
            "message": f"{error.step}: {error.told}",
            "classes": [error.type, *told["classes"]],
        }
    return Raised(told, isinstance(error, Fail))


def _told(stop: Stop) -> Turn:
    return _final("CodeChanged", str(stop), stop.traceback) if isinstance(stop, Changed) else stop


def _final(kind: str, message: str, traceback: str | None = None) -> Raised:
    return Raised({"type": kind, "message": message, "traceback": traceback, "classes": [kind]}, final=True)
