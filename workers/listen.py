"""The coordinator hears of what others made ready and cannot send themselves, in place of waiting for its tick."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from orchestrator.errors import Unreachable
from orchestrator.store.notify import Ear, Pooled

log = logging.getLogger("orchestrator.beat")
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0


class Listener:
    """Waits for a ring, where that can be heard; else nothing is lost but time. Said once, whatever the reason.

    `connect` makes a connection of its own; None: it is switched off.
    """

    def __init__(self, connect: Callable[[], Ear] | None) -> None:
        self._connect = connect
        self._ear: Ear | None = None
        self._told: str | None = None
        self._tries_at = float("-inf")
        self._wait = _FIRST_WAIT
        self._was = False

    @property
    def listening(self) -> bool:
        return self._ear is not None

    def changed(self) -> bool:
        """Whether it listens now and did not when this was asked last, or the other way round."""
        before, self._was = self._was, self.listening
        return before != self._was

    def open(self) -> None:
        """Begin to listen if it does not, and if it is time to try."""
        if self._ear is not None or self._connect is None or time.monotonic() < self._tries_at:
            return
        try:
            self._ear = self._connect()
        except Pooled:
            self._connect = None
            self._say("Postgres is behind a pooler, where nothing is heard (ORCHESTRATOR_LISTEN_URL may go past it)")
        except Unreachable as error:
            self._lose(error)
        else:
            log.info("listening: what others make ready is dispatched at once")
            self._told, self._wait = None, _FIRST_WAIT

    def wait(self, seconds: float) -> bool:
        """Whether somebody has rung within these seconds; False at once when it does not listen."""
        if self._ear is None:
            return False
        try:
            return self._ear.wait(seconds)
        except Unreachable as error:
            self.close()
            self._lose(error)
            return False

    def close(self) -> None:
        ear, self._ear = self._ear, None
        if ear is not None:
            ear.close()

    def _lose(self, error: Unreachable) -> None:
        self._tries_at = time.monotonic() + self._wait
        self._wait = min(2 * self._wait, _LONGEST_WAIT)
        self._say(str(error))

    def _say(self, why: str) -> None:
        if self._told is None:
            log.warning("not listening: %s; what others make ready waits for the next tick", why)
        self._told = why
