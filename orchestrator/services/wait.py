"""Wait for the end of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from orchestrator.domain.states import RunStatus
from orchestrator.errors import Unreachable
from orchestrator.store.db import Database
from orchestrator.store.reads.brief import run_statuses

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
    """Wait until the run has ended; its status. See `wait_many`."""
    return wait_many(db, [run_id], timeout, sleep=sleep, clock=clock)[run_id]


def wait_many(
    db: Database,
    run_ids: Sequence[str],
    timeout: float | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, RunStatus]:
    """Wait until all these runs have ended; their statuses. Looks often at first, then once a second.

    Raises `TimeoutError` after `timeout` seconds (None: waits for ever), `NotFound`, and `Unreachable` when
    Postgres stays away for a minute.
    """
    ends = None if timeout is None else clock() + timeout
    interval, away_since = _FIRST_SECONDS, None
    open_runs = list(run_ids)
    while True:
        try:
            found, away_since = read_statuses(db, run_ids), None
        except Unreachable:
            away_since = away_since or clock()
            if clock() - away_since > _PATIENCE_SECONDS:
                raise
        else:
            open_runs = [run_id for run_id, status in found.items() if not status.terminal]
            if not open_runs:
                return found
        left = None if ends is None else ends - clock()
        if left is not None and left <= 0:
            raise TimeoutError(f"{_named(open_runs)} not ended within {timeout:g} s; {_goes_on(open_runs)}")
        sleep(interval if left is None else min(interval, left))
        interval = min(interval * _GROWTH, _MOST_SECONDS)


def _named(open_runs: Sequence[str]) -> str:
    return f"run {open_runs[0]} has" if len(open_runs) == 1 else f"{len(open_runs)} runs have"


def _goes_on(open_runs: Sequence[str]) -> str:
    return "it goes on" if len(open_runs) == 1 else "they go on"


def read_status(db: Database, run_id: str) -> RunStatus:
    """The run's status now; raises `NotFound` and `Unreachable`."""
    return read_statuses(db, [run_id])[run_id]


def read_statuses(db: Database, run_ids: Sequence[str]) -> dict[str, RunStatus]:
    """The runs' statuses now; raises `NotFound` and `Unreachable`."""
    return run_statuses(db, run_ids)
