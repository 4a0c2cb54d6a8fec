"""The journal of a rehearsed run, with the moments at which things were written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from orchestrator.replay.journal import WAITS, End, Entry, History, Try
from orchestrator.replay.memory import MemoryJournal
from orchestrator.replay.rehearsal.agenda import Agenda
from orchestrator.replay.rehearsal.recorded import entry_json

_CANCELED = End("canceled", None, {"type": "Canceled", "message": "the run has ended"})


class Kept(MemoryJournal):
    """`begin` is told of each new entry."""

    def __init__(self, agenda: Agenda, run_id: str, input: Any, begin: Callable[[Entry], None]) -> None:
        self._agenda, self._begin = agenda, begin
        self._start(History(run_id, input))

    def _start(self, history: History) -> None:
        super().__init__(history)
        self._at: dict[int, datetime] = {}
        self._ended_at: dict[int, datetime] = {}
        self._due: dict[int, float] = {}

    @property
    def generation(self) -> int:
        return self._history.generation

    def load(self) -> History:
        loaded = super().load()
        loaded.now = self._agenda.now
        loaded.tries = {p: replace(t, left=self._due[p] - self._agenda.now) for p, t in loaded.tries.items()}
        return loaded

    def append(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        new = [entry for entry in entries if entry.position not in self._history.entries]
        stored = super().append(entries)
        for entry in new:
            self._at[entry.position] = self._agenda.moment
            self._begin(entry)
        return stored

    def note_try(self, entry: Entry, failed: Try) -> None:
        self._history.tries[entry.position] = failed
        self._due[entry.position] = self._agenda.now + failed.left

    def has_ended(self, positions: Sequence[int]) -> bool:
        return all(position in self._history.ends for position in positions)

    def end_at(self, entry: Entry, end: End) -> bool:
        """How what was begun came out, now; False when that is known already, or is of an earlier generation."""
        position = entry.position
        if self._history.entries.get(position) is not entry or position in self._history.ends:
            return False
        self._history.ends[position] = end
        self._ended_at[position] = self._agenda.moment
        return True

    def cancel_open(self) -> None:
        for entry in self.waiting():
            self.end_at(entry, _CANCELED)

    def go_on_anew(self, input: Any) -> None:
        own = self._history
        self._start(History(own.run_id, input, own.generation + 1))

    def as_json(self) -> dict[str, Any]:
        """The present generation."""
        own = self._history
        entries = [self._entry(entry) for _, entry in sorted(own.entries.items())]
        return {"generation": own.generation, "input": own.input, "entries": entries}

    def _entry(self, entry: Entry) -> dict[str, Any]:
        position, end = entry.position, self._history.ends.get(entry.position)
        at = self._at[position].isoformat()
        ended_at = at if entry.verb not in WAITS else None
        if position in self._ended_at:
            ended_at = self._ended_at[position].isoformat()
        return entry_json(entry, end, at, ended_at)
