"""Removes what is older than it is to be kept, in a thread of the beat process: no tick waits for it.

Of several beats one does it at a time. It works for a share of the time only, in transactions of some milliseconds, so
that what is read and written beside it hardly notices. That one who is at it dies, is known a minute later.
"""

from __future__ import annotations

import logging
import threading
import time

from orchestrator.errors import Locked
from orchestrator.ids import new_id
from orchestrator.services.blobs import NO_BLOBS, Blobs
from orchestrator.services.gc import ENGINE, Collected, gc
from orchestrator.store.db import Database
from orchestrator.store.retention import take_turn
from workers.outage import Outage

log = logging.getLogger("orchestrator.beat")
_WORK_SECONDS = 0.1  # then it rests
_REST_SECONDS = 0.9
_TURN_SECONDS = 60.0
_RENEW_SECONDS = 20.0


class Sweeper:
    """Looks each `every` seconds for what is old; never for 0."""

    def __init__(self, db: Database, every: float, blobs: Blobs = NO_BLOBS) -> None:
        self._db, self._every, self._blobs = db, every, blobs
        self._holder = new_id()
        self._stop = threading.Event()
        self._outage = Outage(log, "removing what is old")
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True) if every > 0 else None
        self._renewed_at = 0.0

    def start(self) -> None:
        if self._thread is not None:
            self._thread.start()

    def stop(self) -> None:
        """Come to the end of the transaction under way."""
        self._stop.set()
        if self._thread is not None and self._thread.is_alive():
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                with self._outage.ridden_out():
                    self.sweep()
            except Locked as error:  # the turn: another who takes it stands still
                _leave(error)
            except Exception:  # noqa: BLE001 - the next look tries again
                log.exception("what is old could not be removed; it is tried again")

    def sweep(self) -> Collected:
        """Remove all that is old now, if it is this process's turn."""
        done = Collected()
        if not self._has_turn(_TURN_SECONDS):
            return done
        began = time.monotonic()
        # A lock that somebody holds for long (a table being altered) is for another time.
        try:
            for so_far in gc(self._db, blobs=self._blobs, actor=ENGINE):
                done = so_far
                if time.monotonic() - began >= _WORK_SECONDS:
                    if self._stop.wait(_REST_SECONDS) or not self._renewed():
                        break
                    began = time.monotonic()
        except Locked as error:
            _leave(error)
        if done.runs:
            log.info("removed %d runs that were older than they are to be kept (%d rows)", done.runs, done.rows)
        self._has_turn(self._every / 2)  # no other begins right after it
        return done

    def _renewed(self) -> bool:
        return time.monotonic() - self._renewed_at < _RENEW_SECONDS or self._has_turn(_TURN_SECONDS)

    def _has_turn(self, seconds: float) -> bool:
        with self._db.transaction(lazy=True) as conn:
            has = take_turn(conn, self._holder, seconds)
        self._renewed_at = time.monotonic()
        return has


def _leave(error: Locked) -> None:
    log.info("removing what is old is left for another time: %s", error)
