"""The coordinator's duties on schedules.

Any number of coordinators are safe: a schedule is locked, with its decision in the same transaction as the runs it
starts, and who finds it locked passes on (docs/adr/0022).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable

from orchestrator.errors import Locked, Troubled, Unreachable
from orchestrator.services.engine import Engine
from orchestrator.services.firing import Firing
from orchestrator.store import schedule_fires, schedules

log = logging.getLogger(__name__)
PORTION = 200  # schedules a tick, and no more begun after so many seconds: the other duties must not wait for long
_SECONDS = 1.0
_TROUBLE_SECONDS = 60.0


def fire_schedules(engine: Engine) -> set[str]:
    """Schedules that are due start their runs."""
    with engine.db.transaction() as conn:
        due = schedules.find_due(conn, PORTION)
    return each(engine, due, _fire)


def follow_fires(engine: Engine) -> set[str]:
    """What has ended of schedules is noted; what waits for that begins."""
    with engine.db.transaction() as conn:
        found = schedule_fires.find_to_follow(conn, PORTION)
    return each(engine, found, _follow)


def each(engine: Engine, ids: Iterable[str], act: Callable[[Engine, str], frozenset[str]]) -> set[str]:
    """One that fails tells so on the schedule, is tried again later, and keeps no other waiting."""
    queues: set[str] = set()
    end = time.monotonic() + _SECONDS
    for id in ids:
        if time.monotonic() > end:
            break
        try:
            queues |= act(engine, id)
        except (Locked, Troubled) as error:
            log.warning("schedule %s is left to the next tick: %s", id, error, extra={"schedule_id": id})
        except Unreachable:
            raise
        except Exception as error:  # noqa: BLE001 - one broken row must not keep the others waiting
            log.exception("schedule %s: the coordinator could not do its duty", id, extra={"schedule_id": id})
            with engine.db.transaction() as conn:
                schedules.note_trouble(conn, id, f"{type(error).__name__}: {error}"[:1000], _TROUBLE_SECONDS)
    return queues


def _fire(engine: Engine, id: str) -> frozenset[str]:
    with engine.db.transaction() as conn:
        row = schedules.take_schedule(conn, id)
        if row is None or row.due_at is None or row.due_at > row.now:
            return frozenset()
        engine.tally.observe("fire", (row.now - row.due_at).total_seconds())
        firing = Firing(engine, conn, row)
        firing.note_ended()
        if not firing.paused:
            firing.fire()
    queues = firing.follow()
    return queues | _follow(engine, id) if firing.cancels else queues


def _follow(engine: Engine, id: str) -> frozenset[str]:
    with engine.db.transaction() as conn:
        row = schedules.take_schedule(conn, id)
        if row is None:
            return frozenset()
        firing = Firing(engine, conn, row)
        firing.note_ended()
        firing.begin_waiting()
    return firing.follow()
