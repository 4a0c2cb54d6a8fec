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
_PORTION = 100  # of many runs only so many are looked at again and again
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
    seldom: float = _MOST_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, RunStatus]:
    """Wait until all these runs have ended; their statuses. Looks often at first, then each `seldom` seconds.

    Raises `TimeoutError` after `timeout` seconds (None: waits for ever), `NotFound`, and `Unreachable` when
    Postgres stays away for a minute.
    """
    ends = None if timeout is None else clock() + timeout
    interval, away_since = min(_FIRST_SECONDS, seldom), None
    run_ids = list(dict.fromkeys(run_ids))
    open_runs, found = run_ids, dict[str, RunStatus]()
    while True:
        left = None if ends is None else ends - clock()
        last = left is not None and left <= 0
        try:
            few = _portions(db, open_runs) if found and not last and len(run_ids) > _PORTION else None
            if not few:  # all of them: one may have been opened again meanwhile
                found = read_statuses(db, run_ids)
            open_runs, away_since = few or [id for id, status in found.items() if not status.terminal], None
        except Unreachable:
            away_since = away_since or clock()
            if clock() - away_since > _PATIENCE_SECONDS:
                raise
        if not open_runs:
            return found
        if last:
            raise TimeoutError(f"{_named(open_runs)} not ended within {timeout:g} s; {_goes_on(open_runs)}")
        sleep(interval if left is None else min(interval, left))
        interval = min(interval * _GROWTH, seldom)


def _portions(db: Database, open_runs: Sequence[str]) -> list[str]:
    """Those still open, as far as was looked: at one portion after the other, until one of it is."""
    for start in range(0, len(open_runs), _PORTION):
        statuses = read_statuses(db, open_runs[start : start + _PORTION])
        still = [run_id for run_id, status in statuses.items() if not status.terminal]
        if still:
            return [*still, *open_runs[start + _PORTION :]]
    return []


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
