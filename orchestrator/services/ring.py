"""Who has no broker at hand tells the coordinators that there is something to dispatch."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from sqlalchemy import Connection

from orchestrator.errors import Unreachable
from orchestrator.store import notify
from orchestrator.store.db import Database

log = logging.getLogger(__name__)
# A coordinator that was told looks again after this time, for what was not worth another word.
LOOK_AGAIN_SECONDS = 0.1
_AT_MOST_EACH = LOOK_AGAIN_SECONDS / 2


class Ring:
    """One process' word to the coordinators, given so often at the most: commits that notify stand in line."""

    def __init__(self, on: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        self._on, self._clock = on, clock
        self._rung_at = float("-inf")
        self._lock = threading.Lock()

    def now(self, db: Database) -> None:
        """What is ready is committed."""
        if not self._is_time():
            return
        try:
            notify.ring(db)
        except Unreachable as error:
            log.warning("ready steps are left to the coordinator's next tick: %s", error)

    def at_commit(self, connection: Connection) -> None:
        """What is ready will be there when the connection's transaction is committed."""
        if self._is_time():
            notify.ring_at_commit(connection)

    def _is_time(self) -> bool:
        with self._lock:
            now = self._clock()
            if not self._on or now - self._rung_at < _AT_MOST_EACH:
                return False
            self._rung_at = now
            return True
