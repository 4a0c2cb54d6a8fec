"""A workflow's function, turn by turn, on a journal in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from orchestrator.replay.journal import End, Entry, History, Suspended
from orchestrator.replay.memory import MemoryJournal
from orchestrator.replay.play import Returned, Turn, play
from tests.hands import Unheard

log = logging.getLogger("orchestrator.step")


class Played:
    """A run whose turns are played by hand."""

    def __init__(self, call: Callable[..., Any], input: Any = None) -> None:
        self.call = call
        self.history = History("01890000-0000-7000-8000-000000000000", input, now=1_800_000_000.0)
        self.journal = MemoryJournal(self.history)

    def turn(self, call: Callable[..., Any] | None = None) -> Turn:
        """One turn; what it suspends with is stored."""
        turn = play(call or self.call, self.journal.load(), self.journal, Unheard(), log, workflow="w")
        if isinstance(turn, Suspended):
            self.journal.append(turn.pending)
        return turn

    def end(self, key: str, value: Any = None, status: str = "succeeded", error: str | None = None) -> None:
        told = None if error is None else {"type": error, "message": "told"}
        self.journal.end(key, End(status, value, told))

    def waiting(self) -> list[Entry]:
        return self.journal.waiting()

    def finish(self, give: Callable[[Entry], Any] = lambda entry: None) -> Any:
        """Play it to its end, giving each call what `give` says; what it returned."""
        while isinstance(turn := self.turn(), Suspended):
            for entry in self.waiting():
                self.end(entry.key, give(entry))
        assert isinstance(turn, Returned), turn
        return turn.value
