"""Schedules that will not fire, and fire times that nobody came back to; each statement is one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.states import RUN_TERMINAL
from orchestrator.store.check_steps import LATE
from orchestrator.store.tables import one_of

_NEVER = text("""
SELECT s.name AS schedule, a.name AS app FROM schedules s JOIN apps a ON a.id = s.app_id
WHERE s.paused_at IS NULL AND s.next_fire_at IS NOT NULL AND s.due_at IS NULL ORDER BY s.id LIMIT :limit
""")


def find_never_due(conn: Connection, limit: int) -> Sequence[Row[Any]]:
    """Schedules that have a next fire time and that no coordinator will look at: schedule, app."""
    return conn.execute(_NEVER, {"limit": limit}).all()


# A fire time of which nothing is left to be seen moves on to the next one: that is another one, which is not late yet.
_SOON = text(f"""
SELECT s.name AS schedule, a.name AS app, f.kind, f.fire_at FROM (
  SELECT id AS schedule_id, 'schedule_overdue' AS kind, next_fire_at AS fire_at FROM schedules WHERE due_at < {LATE}
  UNION ALL
  SELECT e.schedule_id, 'fire_not_followed', e.fire_at
  FROM schedule_fires e LEFT JOIN workflow_runs r ON r.id = e.run_id
  WHERE e.status = 'started' AND coalesce(r.status, 'canceled') IN {one_of(RUN_TERMINAL)}
    AND coalesce(r.finished_at, e.decided_at) < {LATE}
  UNION ALL
  SELECT w.schedule_id, 'fire_not_begun', min(w.fire_at) FROM schedule_fires w
  WHERE w.status = 'waiting' AND w.decided_at < {LATE} AND NOT EXISTS (SELECT FROM schedule_fires o
    WHERE o.schedule_id = w.schedule_id AND o.status = 'started' AND (o.cause = 'backfill') = (w.cause = 'backfill'))
  GROUP BY w.schedule_id, w.cause = 'backfill'
) f JOIN schedules s ON s.id = f.schedule_id JOIN apps a ON a.id = s.app_id
WHERE s.paused_at IS NULL OR f.kind = 'fire_not_followed'
ORDER BY f.kind, f.fire_at, s.id LIMIT :limit
""")


def find_late(conn: Connection, patience: float, limit: int) -> Sequence[Row[Any]]:
    """What a coordinator should have done `patience` seconds ago: schedule, app, kind, fire_at."""
    return conn.execute(_SOON, {"patience": patience, "limit": limit}).all()
