"""Wait for the end of a run."""

from __future__ import annotations

import time
from collections.abc import Callable

from orchestrator.domain.states import RunStatus
from orchestrator.errors import Unreachable
from orchestrator.store.db import Database
from orchestrator.store.faults import told_in_words
from orchestrator.store.reads.brief import run_status

_FIRST_SECONDS = 0.02
_MOST_SECONDS = 1.0
_GROWTH = 1.5
# Postgres may be away for a restart or a failover.
_PATIENCE_SECONDS = 60.0


def wait(
    db: Database,
    run_id: str,
    timeout: float | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> RunStatus:
    """Wait until the run has ended; its status. Looks often at first, then once a second.

    Raises `TimeoutError` after `timeout` seconds (None: waits for ever), `NotFound`, and `Unreachable` when
    Postgres stays away for a minute.
    """
    ends = None if timeout is None else clock() + timeout
    interval, away_since = _FIRST_SECONDS, None
    while True:
        try:
            status, away_since = read_status(db, run_id), None
        except Unreachable:
            away_since = away_since or clock()
            if clock() - away_since > _PATIENCE_SECONDS:
                raise
        else:
            if status.terminal:
                return status
        left = None if ends is None else ends - clock()
        if left is not None and left <= 0:
            raise TimeoutError(f"run {run_id} has not ended within {timeout:g} s; it goes on")
        sleep(interval if left is None else min(interval, left))
        interval = min(interval * _GROWTH, _MOST_SECONDS)


def read_status(db: Database, run_id: str) -> RunStatus:
    """The run's status now; raises `NotFound` and `Unreachable`."""
    with told_in_words(), db.transaction() as conn:
        return run_status(conn, run_id)
