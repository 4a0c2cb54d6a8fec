"""Steps that are done in the function's own process."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from orchestrator.context import AttemptContext, AttemptLink
from orchestrator.domain.definition import Retry
from orchestrator.domain.expressions import compile_expression, truthy
from orchestrator.domain.retry import delay_after, retryable
from orchestrator.domain.values import describe_exception, storable
from orchestrator.errors import (
    AttemptCanceled,
    AttemptTimeout,
    ExpressionError,
    Fail,
    RetryLater,
    Skip,
    UnstorableValue,
)
from orchestrator.functions import wants_context
from orchestrator.replay.journal import End, Entry, Stop, Try, Verb
from orchestrator.replay.place import users_line
from orchestrator.replay.program import Program
from orchestrator.services.perform import seconds_asked

_AT_ONCE = 0.05  # seconds: a shorter wait for the next try is not worth another turn


def _alone(run_id: str, key: str, number: int) -> AbstractContextManager[object]:
    return nullcontext()


class Here:
    """Performs the steps of one turn. `around`: what each try of one happens in (orchestrator/tracing)."""

    around: ClassVar[Callable[[str, str, int], AbstractContextManager[object]]] = staticmethod(_alone)

    def __init__(
        self,
        program: Program,
        link: AttemptLink,
        log: logging.LoggerAdapter[logging.Logger],
        max_bytes: int,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self._program, self._link, self._log, self._max_bytes = program, link, log, max_bytes
        self._spread, self._began = spread, time.monotonic()

    def seconds(self) -> float:
        """The moment now, by the store's clock."""
        return self._program.history.now + time.monotonic() - self._began

    def step(
        self, name: str, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], retry: Retry | None
    ) -> tuple[Entry, End]:
        """The step's entry and end: from the journal, else by performing it."""
        position, key, entry = self._program.next(Verb.STEP, name)
        if entry is None or entry.end is None:
            self._program.store()  # what was begun before is to be under way meanwhile
            entry = Entry(position, Verb.STEP, name, key, users_line())
            entry = self._perform(entry, call, args, kwargs, retry or Retry())
        assert entry.end is not None
        return entry, self._program.given(entry.end)

    def _perform(
        self, entry: Entry, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], retry: Retry
    ) -> Entry:
        """Try it as often as the policy says; the entry as it is stored then."""
        last = self._program.history.tries.get(entry.position)
        if last is not None and last.left > _AT_ONCE:
            raise self._program.suspended((), last.left)
        number = 1 if last is None else last.number + 1
        while True:
            end, delay = self._try(entry, number, call, args, kwargs, retry)
            if delay is None:
                done = Entry(entry.position, entry.verb, entry.name, entry.key, entry.line, end)
                return self._program.store(done)[-1]
            self._note(entry, Try(number, end.error or {}, delay))
            number += 1

    def _note(self, entry: Entry, failed: Try) -> None:
        """Write a failed try down; a wait for the next one ends the turn."""
        self._program.written(lambda: self._program.journal.note_try(entry, failed))
        if failed.left > _AT_ONCE:
            raise self._program.suspended((), failed.left)
        time.sleep(failed.left)

    def _try(
        self,
        entry: Entry,
        number: int,
        call: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        retry: Retry,
    ) -> tuple[End, float | None]:
        """How the try came out, and after how many seconds there is another."""
        given = dict(kwargs)
        if "ctx" not in given and wants_context(call):
            given["ctx"] = self._context(entry, number)
        try:
            with self._program.inside(entry.key), Here.around(self._program.history.run_id, entry.key, number):
                value, _ = storable(call(*args, **given), max_bytes=self._max_bytes)
        except (Stop, AttemptTimeout, AttemptCanceled, KeyboardInterrupt, SystemExit):
            raise  # the turn's end, not the step's
        except Skip as error:
            return End("skipped", None, _told(error)), None
        except UnstorableValue as error:
            return End("failed", None, {"type": "UnstorableValue", "message": f"what it gave: {error}"}), None
        except BaseException as error:  # noqa: BLE001 - whatever a user's function raises is the step's end
            return End("failed", None, _told(error)), self._again(error, number, retry)
        return End("succeeded", value), None

    def _context(self, entry: Entry, number: int) -> AttemptContext:
        run_id = self._program.history.run_id
        once = f"{run_id}:{self._program.history.generation}:{entry.key}"
        return AttemptContext(run_id, entry.key, number, once, self._log.logger, self._link)

    def _again(self, error: BaseException, number: int, retry: Retry) -> float | None:
        if isinstance(error, Fail) or number >= retry.max_attempts:
            return None
        told = describe_exception(error)
        if not _wanted(retry, told, number) or not retryable(retry, told["classes"]):
            return None
        asked = seconds_asked(error) if isinstance(error, RetryLater) else None
        return delay_after(retry, number, self._spread()) if asked is None else asked


def _wanted(retry: Retry, told: Mapping[str, Any], number: int) -> bool:
    """What `while` says."""
    if retry.while_ is None:
        return True
    scope = {"error": {"type": told["type"], "message": told["message"]}, "result": None, "attempt": number}
    try:
        return truthy(compile_expression(retry.while_).evaluate(scope))
    except ExpressionError:
        return False


def _told(error: BaseException) -> dict[str, Any]:
    told = describe_exception(error)
    return {"type": told["type"], "message": told["message"], "traceback": told["traceback"]}
