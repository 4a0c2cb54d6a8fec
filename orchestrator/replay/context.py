"""What a code-first workflow's function sees of its run: the parameter `ctx`."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from orchestrator.context import AttemptLink
from orchestrator.domain.asked import check_options, check_retry, checked_map, checked_schema
from orchestrator.domain.codes import retry_body
from orchestrator.domain.definition import Retry
from orchestrator.domain.sandbox.words import kind
from orchestrator.domain.values import storable
from orchestrator.errors import (
    ChildCanceled,
    ChildFailed,
    StepFailed,
    UnstorableValue,
    WaitTimeout,
    WorkflowMisuse,
)
from orchestrator.replay.here import Here
from orchestrator.replay.journal import Continued, End, Entry, Verb
from orchestrator.replay.place import users_line
from orchestrator.replay.program import Program, checked_name

_RAISE: Any = object()
_NO_TIME = 1e-6  # seconds: of a wait that only looks whether the event has come


@dataclass(frozen=True, slots=True)
class Handle:
    """Something that was started and ends later: a call, or a child run. `key` is its step's name."""

    position: int
    key: str
    verb: Verb


class WorkflowContext:
    """The run a workflow's function runs in. What its verbs gave is journaled, and given again when it is replayed."""

    def __init__(
        self,
        program: Program,
        link: AttemptLink,
        log: logging.Logger,
        *,
        workflow: str,
        attempt: int = 1,
        max_bytes: int = 1 << 20,
        most_given: int = 1 << 20,
    ) -> None:
        self.run_id, self.workflow, self.attempt = program.history.run_id, workflow, attempt
        self.log = _Once(log, program)
        self._program, self._link, self._max_bytes = program, link, max_bytes
        self._here = Here(program, link, self.log, most_given)
        self._drawn = 0
        self._patches: dict[str, bool] = {}

    @property
    def replaying(self) -> bool:
        """Whether what comes next was done by an earlier turn already."""
        return self._program.replaying

    @property
    def generation(self) -> int:
        """How often the run has gone on by `continue_as_new`."""
        return self._program.history.generation

    # In this process.

    def step(
        self, name: str, call: Callable[..., Any], /, *args: Any, retry: Retry | None = None, **kwargs: Any
    ) -> Any:
        """Call `call(*args, **kwargs)` here, once it has come out never again; what it returned, as JSON gives it back.

        A parameter of it named `ctx` receives the attempt's context. Raises `StepFailed` when it failed for good.
        """
        self._program.check()
        if not callable(call):
            raise WorkflowMisuse(f"step '{name}' is given {kind(call)}, not what is to be called")
        check_retry(retry)
        return _result(*self._here.step(name, call, args, kwargs, retry))

    # On workers.

    def call(self, function: str, input: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Call a registered function on the worker pool and wait for what it returns. `options`: see `start_call`.

        Raises `StepFailed` when it failed for good.
        """
        return self._wait(self.start_call(function, input, **options))

    def start_call(
        self,
        function: str,
        input: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        retry: Retry | None = None,
        timeout: float | None = None,
        total_timeout: float | None = None,
        queue: str | None = None,
        priority: int = 0,
        pool: str | None = None,
        slots: int = 1,
        on_lost: str | None = None,
    ) -> Handle:
        """Begin a call; `gather` gives what it returned. `input`: its keyword arguments; times in seconds."""
        check_retry(retry)
        given = checked_map(input, "the `input` of a call")
        body = {"function": function, "input": given, "retry": retry_body(retry), "timeout": timeout}
        body |= {"total_timeout": total_timeout, "queue": queue, "priority": priority, "pool": pool, "slots": slots}
        return self._start(Verb.CALL, name or function, body | {"on_lost": on_lost})

    def map(
        self,
        function: str,
        items: Iterable[Any],
        *,
        concurrency: int | None = None,
        return_errors: bool = False,
        **options: Any,
    ) -> list[Any]:
        """Call the function for each item, at most `concurrency` at a time; what they returned, in the items' order.

        An item that is a map is the keyword arguments, any other the argument `item`. `options`: see `start_call`.
        Raises `StepFailed` of the first that failed, once all have ended, or lists it with `return_errors`.
        """
        check_options({"concurrency": concurrency})
        turns = None if concurrency is None else int(concurrency)
        with self._program.in_turns(turns):
            handles = [self.start_call(function, _arguments(item), **options) for item in items]
        return self.gather(*handles, return_errors=return_errors)

    def gather(self, *handles: Handle, return_errors: bool = False) -> list[Any]:
        """Wait for all of them; what they gave, in their order.

        Raises the error of the first that failed, once all have ended, or lists it with `return_errors`.
        """
        found = self._program.wait([_handle(handle).position for handle in handles])
        results = [_outcome(h, end) for h, end in zip(handles, found, strict=True)]
        errors = [result for result in results if isinstance(result, StepFailed)]
        if errors and not return_errors:
            raise errors[0]
        return results

    # Children.

    def spawn_child(
        self, workflow: str, input: Any = None, *, child_id: str | None = None, name: str | None = None
    ) -> Handle:
        """Start a run of a workflow, code-first or declarative. `child_id`: of all runs of that workflow one has it; a
        child that is spawned again is attached to, also when it has ended."""
        return self._start(Verb.CHILD, name or workflow, {"workflow": workflow, "input": input, "child_id": child_id})

    def await_child(self, child: Handle) -> Any:
        """Wait for its end; its output. Raises `ChildFailed` and `ChildCanceled`."""
        return self._wait(child)

    def cancel_child(self, child: Handle) -> None:
        """Ask the child to stop, gracefully; `await_child` then raises `ChildCanceled`."""
        handle = _handle(child)
        position, key, entry = self._program.next(Verb.CANCEL, f"cancel {handle.key}"[:255])
        if entry is None:
            body = {"position": handle.position}
            entry = Entry(
                position, Verb.CANCEL, f"cancel {handle.key}"[:255], key, users_line(), End("succeeded"), body
            )
            self._program.store(entry)

    # Time and events.

    def sleep(self, until: float | datetime) -> None:
        """Wait for so many seconds, or until a moment, without a worker; not at all for one that has gone by."""
        self._wait(self._start(Verb.SLEEP, "sleep", {"sleep": _until(until)}))

    def wait_event(
        self,
        name: str,
        *,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
        default: Any = _RAISE,
    ) -> Any:
        """Wait for an event (`signal`) without a worker; its payload. One that came before is taken at once.

        Raises `WaitTimeout` when none came within `timeout` seconds (0 or less: it only looks), or returns `default`
        if that is given.
        """
        check_options({"event": name, "timeout": None if _is_past(timeout) else timeout})
        timeout = _NO_TIME if _is_past(timeout) else timeout
        asked = {"event": name, "schema": checked_schema(schema), "timeout": timeout}
        handle = self._start(Verb.EVENT, name, {"wait_for": asked})
        try:
            return self._wait(handle)
        except WaitTimeout:
            if default is _RAISE:
                raise
            return default

    # Versions of the code.

    def patched(self, name: str) -> bool:
        """Whether the run is to go the new way: False for one that had passed this point before it was there."""
        if name in self._patches:
            return self._patches[name]
        there = self._program.peek()
        if there is not None and (there.verb, there.name) != (Verb.PATCH, name):
            checked_name(name)
            return self._patches.setdefault(name, False)
        position, key, entry = self._program.next(Verb.PATCH, name)
        if entry is None:
            self._program.put(Entry(position, Verb.PATCH, name, key, users_line(), End("succeeded", True)))
        return self._patches.setdefault(name, True)

    def continue_as_new(self, input: Any = None) -> None:
        """Begin the function anew with this input, and an empty journal. Does not return."""
        self._program.check()
        if left := self._program.open():
            raise WorkflowMisuse(f"continue_as_new leaves {', '.join(left[:5])} behind: await or cancel these first")
        value, text = self._plain(input, "the input of continue_as_new")
        self._program.finish("goes on anew")
        raise self._program.stopped(Continued(value, text))

    # What would differ each time.

    def now(self) -> datetime:
        """The moment at which this line was reached first, in UTC."""
        position, key, entry = self._program.next(Verb.NOW, "now")
        if entry is None:
            seconds = self._here.seconds()
            entry = self._program.put(Entry(position, Verb.NOW, "now", key, users_line(), End("succeeded", seconds)))
        assert entry.end is not None
        return datetime.fromtimestamp(entry.end.value, UTC)

    def random(self) -> float:
        """A random number in [0, 1), the same when it is replayed."""
        return self._generator().random()

    def uuid(self) -> str:
        """A random UUID, the same when it is replayed."""
        return str(uuid.UUID(int=self._generator().getrandbits(128), version=4))

    def _generator(self) -> Random:
        self._program.check()
        self._drawn += 1
        return Random(f"{self.run_id}:{self.generation}:{self._drawn}")  # noqa: S311 - to be repeatable

    def set_progress(self, progress: Any) -> None:
        """Show `progress` (any JSON; `{"done": 3, "total": 10}` is drawn as a bar)."""
        self._program.check()
        self._link.report(progress)

    # How they wait.

    def _start(self, verb: Verb, name: str, body: Mapping[str, Any]) -> Handle:
        check_options(body)
        plain, _ = self._plain({key: value for key, value in body.items() if value is not None}, f"{verb} '{name}'")
        entry = self._program.asked(verb, name, plain)
        return Handle(entry.position, entry.key, verb)

    def _wait(self, handle: Handle) -> Any:
        return self.gather(handle)[0]

    def _plain(self, value: Any, what: str) -> tuple[Any, str]:
        try:
            return storable(value, max_bytes=self._max_bytes)
        except UnstorableValue as error:
            raise UnstorableValue(error.path, f"{str(error).split(': ', 1)[-1]} ({what})") from None


class _Once(logging.LoggerAdapter[logging.Logger]):
    """A logger that is silent about what an earlier turn has told."""

    def __init__(self, log: logging.Logger, program: Program) -> None:
        super().__init__(log, {})
        self._program = program

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - logging's own name
        return not self._program.replaying and super().isEnabledFor(level)


def _arguments(item: Any) -> Mapping[str, Any]:
    return item if isinstance(item, Mapping) else {"item": item}


def _is_past(seconds: Any) -> bool:
    return isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds <= 0


def _until(until: Any) -> float | str:
    """Seconds (less than none: none), or a moment's text. Raises `WorkflowMisuse`."""
    if isinstance(until, datetime):
        try:
            return (until if until.tzinfo else until.astimezone()).isoformat()
        except (ValueError, OverflowError):  # the year 1, or 9999, in another zone
            return until.replace(tzinfo=UTC).isoformat()
    if isinstance(until, bool) or not isinstance(until, int | float):
        told = "; give its total_seconds()" if isinstance(until, timedelta) else ""
        raise WorkflowMisuse(f"sleep takes seconds or a datetime, not {kind(until)}{told}")
    return max(0, until)  # what is left until a moment that has just gone by


def _handle(given: Any) -> Handle:
    if not isinstance(given, Handle):
        raise WorkflowMisuse(f"wait for what start_call or spawn_child gave, not for {given!r:.80}")
    return given


_ERRORS = {Verb.CHILD: ChildFailed}


def _result(entry: Entry, end: End) -> Any:
    found = _outcome(Handle(entry.position, entry.key, entry.verb), end)
    if isinstance(found, StepFailed):
        raise found
    return found


def _outcome(handle: Handle, end: End) -> Any:
    """What the end gives, or the error it is."""
    if end.status == "succeeded":
        return storable(end.value, max_bytes=1 << 62)[0]  # the function may change what it was given
    if end.status == "skipped":
        return None
    error = end.error or {"type": "Canceled", "message": "it was canceled"}
    kind = _ERRORS.get(handle.verb, StepFailed)
    if handle.verb is Verb.CHILD and (end.status == "canceled" or error["type"] == "ChildCanceled"):
        kind = ChildCanceled
    if handle.verb is Verb.EVENT and error["type"] == "WaitTimeout":
        kind = WaitTimeout
    return kind(handle.key, error["type"], error["message"])
