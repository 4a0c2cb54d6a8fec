"""A process adds what it has counted to the database, every few seconds."""

from __future__ import annotations

import time
from contextlib import suppress

from orchestrator.errors import OrchestratorError
from orchestrator.services.engine import Engine

EVERY_SECONDS = 10.0


class Telling:
    """`show` is called often (workers/live.py); `last_if_possible` once at the end."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._due = time.monotonic() + EVERY_SECONDS

    def show(self) -> None:
        """If it is time; raises `Unreachable`, and nothing is lost."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + EVERY_SECONDS
            self.last()

    def last_if_possible(self) -> None:
        """The process ends: what cannot be stored now is lost."""
        with suppress(OrchestratorError):
            self.last()

    def last(self) -> None:
        """Now; raises `Unreachable`."""
        self._engine.tally.store(self._engine.db)
