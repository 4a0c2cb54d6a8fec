"""The function's program against its journal: each verb it asks for is the next entry, or the first that differs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from orchestrator.domain.blobs import holds
from orchestrator.domain.codes import DRIVER
from orchestrator.errors import ExpressionError, WorkflowMisuse
from orchestrator.replay.journal import WAITS, Broken, Changed, End, Entry, History, Journal, Stop, Suspended, Verb
from orchestrator.replay.place import users_line

Written = TypeVar("Written")


class Program:
    """Where the function is. `pending`: what it asked for and is not stored yet, because nothing hangs on it so far."""

    def __init__(self, history: History, journal: Journal) -> None:
        self.history, self.journal = history, journal
        self.pending: list[Entry] = []
        self.stop: Stop | None = None
        self.over = False
        self._position = 0
        self._names = Counter[str]()
        self._keys = {DRIVER}
        self._open: dict[int, Entry] = {}
        self._thread = threading.get_ident()
        self._inside: str | None = None
        self._turn: int | None = None

    @property
    def replaying(self) -> bool:
        """Whether what comes next was journaled by an earlier turn."""
        return self._position < self.history.last

    def check(self) -> None:
        """Raises `WorkflowMisuse`, and again what has ended this turn."""
        if threading.get_ident() != self._thread:
            raise WorkflowMisuse("the context of a workflow is used by its own thread only: start calls instead")
        if self.over:
            raise WorkflowMisuse("the context of a workflow is used after its function has ended")
        if self._inside is not None:
            raise WorkflowMisuse(f"step '{self._inside}' uses the workflow's context: only its function itself may")
        if self.stop is not None:
            raise self.stop

    def next(self, verb: Verb, name: str) -> tuple[int, str, Entry | None]:
        """The next position, its key, and its entry if there is one; stops the turn where the journal has another."""
        self.check()
        checked_name(name)
        self._position += 1
        key = self._key(name)
        entry = self.history.entries.get(self._position)
        if entry is not None and (entry.verb, entry.name) != (verb, name):
            raise self.stopped(Changed(_differs(entry, f"the code asks for {verb} '{name}' ({users_line()})")))
        return self._position, key, entry

    def _key(self, name: str) -> str:
        """The name, with an ordinal where it was used before."""
        key = name
        while key in self._keys:
            self._names[name] += 1
            key = f"{name}#{self._names[name] + 1}"
        self._keys.add(key)
        return key

    def peek(self) -> Entry | None:
        """The entry of the next position, which the code has not asked for yet."""
        self.check()
        return self.history.entries.get(self._position + 1)

    @contextmanager
    def inside(self, key: str) -> Iterator[None]:
        """While a step is done here."""
        self._inside = key
        try:
            yield
        finally:
            self._inside = None

    @contextmanager
    def in_turns(self, most: int | None) -> Iterator[None]:
        """What is asked for meanwhile is done so many at a time."""
        before, self._turn = self._turn, most
        try:
            yield
        finally:
            self._turn = before

    def asked(self, verb: Verb, name: str, body: Mapping[str, Any]) -> Entry:
        """The entry of a verb that waits; a new one is stored with others."""
        position, key, entry = self.next(verb, name)
        if entry is None:
            entry = self.put(Entry(position, verb, name, key, users_line(), body=body, turn=self._turn))
        self._open[position] = entry
        return entry

    def put(self, entry: Entry) -> Entry:
        """A new entry on which nothing hangs yet."""
        self.history.add(entry)
        self.pending.append(entry)
        return entry

    def store(self, *entries: Entry) -> Sequence[Entry]:
        """Write what is pending and these; what is stored there now."""
        self.check()
        wanted, self.pending = [*self.pending, *entries], []
        if not wanted:
            return ()
        stored = self.written(lambda: self.journal.append(wanted))
        for entry in stored:
            self.history.add(entry)
        return stored

    def written(self, write: Callable[[], Written]) -> Written:
        """What writing to the journal gave; what keeps it from that ends the turn."""
        try:
            return write()
        except Stop as stop:
            raise self.stopped(stop) from None
        except Exception as error:
            raise self.stopped(Broken(error)) from error

    def wait(self, positions: Sequence[int]) -> list[End]:
        """The ends of these entries; stops the turn until all have ended."""
        self.check()
        awaited = [position for position in positions if position not in self.history.ends]
        if awaited:
            raise self.suspended(awaited)
        return [self.given(self.history.ends[position]) for position in positions]

    def given(self, end: End) -> End:
        """The end with its value, wherever that lies: fetched when the function gets it, not when it is replayed."""
        if not holds(end.value):
            return end
        try:
            return replace(end, value=self.written(lambda: self.journal.whole(end.value)))
        except Broken as broken:
            if not isinstance(broken.error, ExpressionError):
                raise
            self.stop = None
            return End("failed", None, {"type": type(broken.error).__name__, "message": str(broken.error)})

    def suspended(self, awaited: Sequence[int], seconds: float | None = None) -> Stop:
        return self.stopped(Suspended(self.pending, awaited, seconds))

    def stopped(self, stop: Stop) -> Stop:
        """The turn is over, whatever the function makes of what is raised."""
        self.stop = stop
        return stop

    def open(self) -> list[str]:
        """The keys of what was asked for and has not ended."""
        return [e.key for p, e in self._open.items() if e.verb in WAITS and p not in self.history.ends]

    def finish(self, how: str) -> None:
        """The function is over: nothing may be left in the journal. Raises `Stop`."""
        left = self.history.entries.get(self._position + 1)
        if left is not None:
            raise self.stopped(Changed(_differs(left, f"the code {how} without it")))


def checked_name(name: str) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > 255 or not name.isprintable():
        raise WorkflowMisuse(f"a name has 1 to 255 printable characters, not {name!r:.80}")
    return name


def _differs(entry: Entry, asked: str) -> str:
    where = f" ({entry.line})" if entry.line else ""
    return (
        f"the code has changed: at entry {entry.position} the journal has {entry.verb} '{entry.key}'{where}, {asked};"
        " let old runs finish the old way with ctx.patched(...), or start them again"
    )
