"""A journal in memory: for tests, and to check new code against a recorded history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestrator.replay.journal import WAITS, End, Entry, History, Try


class MemoryJournal:
    """Keeps what is appended; `end` says how what was begun came out. A `History` of it can be replayed again."""

    def __init__(self, history: History) -> None:
        self._history = history

    def load(self) -> History:
        """What is journaled so far, for a turn of the function."""
        own = self._history
        return replace(own, entries=dict(own.entries), ends=dict(own.ends), tries=dict(own.tries))

    def append(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        for entry in entries:
            if entry.position not in self._history.entries:
                self._history.add(entry)
        return [self._history.entries[entry.position] for entry in entries]

    def whole(self, value: Any) -> Any:
        return value

    def note_try(self, entry: Entry, failed: Try) -> None:
        self._history.tries[entry.position] = replace(failed, left=0.0)

    def end(self, key: str, end: End) -> None:
        """How the call, child, sleep or event with this key came out."""
        self._history.ends[self._position(key)] = end

    def waiting(self) -> list[Entry]:
        """What was begun and has not ended, in the order of the program."""
        history = self._history
        return [e for p, e in sorted(history.entries.items()) if e.verb in WAITS and p not in history.ends]

    def _position(self, key: str) -> int:
        return next(p for p, entry in self._history.entries.items() if entry.key == key)
