"""The journal of a code-first run, as its function is replayed from it: entries in the order of the program.

`Journal` is all that the context needs of a store: the driver's is in Postgres (stored.py), tests have one in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class Verb(StrEnum):
    """What an entry stands for. Those of `WAITS` are carried out by a step of their own, which ends later."""

    STEP = "step"
    CALL = "call"
    CHILD = "child"
    SLEEP = "sleep"
    EVENT = "event"
    CANCEL = "cancel"
    NOW = "now"
    PATCH = "patch"


WAITS = frozenset({Verb.CALL, Verb.CHILD, Verb.SLEEP, Verb.EVENT})


@dataclass(frozen=True, slots=True)
class End:
    """How an entry came out. `status` is that of a step: succeeded, failed, skipped or canceled; `error` has `type` and
    `message`."""

    status: str
    value: Any = None
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One verb of the function, at its place in the program, counted from 1.

    `key` is the name with an ordinal where it is repeated; `line` says where in the user's file it was asked for. `end`
    comes with the entry for what is done in the function's own process (a step, now, patched). `body` says what the
    step of a verb that waits is to do, as a document would; `turn`: a pending one begins as another ends, so many at a
    time.
    """

    position: int
    verb: Verb
    name: str
    key: str
    line: str = ""
    end: End | None = None
    body: Mapping[str, Any] | None = None
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Try:
    """A failed try of a step that is to be tried again, `left` seconds from when the history was read."""

    number: int
    error: Mapping[str, Any]
    left: float


@dataclass(slots=True)
class History:
    """What was journaled: entries and ends by position. `generation` counts `continue_as_new`, whose input is `input`.

    `now`: the moment it was read, in seconds since 1970 by the store's clock.
    """

    run_id: str
    input: Any
    generation: int = 0
    entries: dict[int, Entry] = field(default_factory=dict)
    ends: dict[int, End] = field(default_factory=dict)
    tries: dict[int, Try] = field(default_factory=dict)
    now: float = 0.0

    @property
    def last(self) -> int:
        """The position of the last entry; 0 without any."""
        return max(self.entries, default=0)

    def add(self, entry: Entry) -> None:
        self.entries[entry.position] = entry
        if entry.end is not None:
            self.ends[entry.position] = entry.end


class Journal(Protocol):
    """Append-only. Both writers raise `Yielded` when another driver has the run, or it is over."""

    def append(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Write entries at the next positions; what is stored there, which another driver may have written first."""

    def whole(self, value: Any) -> Any:
        """A value of an end, of which parts may lie in the blob store. Raises `BlobGone`."""

    def note_try(self, entry: Entry, failed: Try) -> None:
        """Write down a failed try of a step that is to be tried again."""


class Stop(BaseException):
    """Ends the turn of a function. Not an `Exception`, so that `except Exception` lets it through."""


class Suspended(Stop):
    """The function waits: for the ends at the positions `awaited`, or for `seconds`. `pending` is not stored yet."""

    def __init__(self, pending: Sequence[Entry], awaited: Sequence[int], seconds: float | None = None) -> None:
        self.pending, self.awaited, self.seconds = tuple(pending), tuple(awaited), seconds
        super().__init__("the function waits; this ends its turn and is not to be caught")


class Continued(Stop):
    """The function goes on anew with `input`."""

    def __init__(self, input: Any, input_json: str) -> None:
        self.input, self.input_json = input, input_json
        super().__init__("the function goes on anew; this ends its turn and is not to be caught")


class Yielded(Stop):
    """Another driver has the run, or it is over: what this one would do is not to be done."""


class Broken(Stop):
    """The journal could not be written: it is nobody's failure, and `error` says why."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        super().__init__(f"the journal could not be written: {error}")


class Changed(Stop):
    """The code asks for something else than the journal has; `str(error)` names the first difference.

    `traceback`: of what the function raised instead of asking for more.
    """

    traceback: str | None = None
