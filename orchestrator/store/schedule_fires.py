"""What was decided at the fire times of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.firing import Gap

_ENDED = "('canceled', 'failed', 'succeeded')"

_ADD = text("""
INSERT INTO schedule_fires (schedule_id, fire_at, again, cause, status)
VALUES (:id, :fire_at, :again, :cause, 'waiting') ON CONFLICT DO NOTHING RETURNING fire_at
""")
_STARTED = text("""
UPDATE schedule_fires SET status = 'started', run_id = :run_id, decided_at = orchestrator_now()
WHERE schedule_id = :id AND fire_at = :fire_at AND again = :again
""")
_REFUSED = text("""
UPDATE schedule_fires SET status = 'refused', error = :error, decided_at = orchestrator_now()
WHERE schedule_id = :id AND fire_at = :fire_at AND again = :again
""")
_DROP = text("""
UPDATE schedule_fires SET status = 'dropped', decided_at = orchestrator_now()
WHERE schedule_id = :id AND status = 'waiting' AND cause <> 'backfill'
""")


def add_fire(conn: Connection, id: str, fire_at: datetime, cause: str, again: int = 0) -> bool:
    """A fire time that is to have a run; False when there is one for it already."""
    values = {"id": id, "fire_at": fire_at, "cause": cause, "again": again}
    return conn.execute(_ADD, values).first() is not None


_AGAIN = text("""
SELECT coalesce(max(again) + 1, 0) FROM schedule_fires WHERE schedule_id = :id AND fire_at = :fire_at
""")


def next_again(conn: Connection, id: str, fire_at: datetime) -> int:
    """Which place is free at this fire time."""
    return int(conn.execute(_AGAIN, {"id": id, "fire_at": fire_at}).scalar_one())


def set_started(conn: Connection, id: str, fire_at: datetime, again: int, run_id: str) -> None:
    """Its run was started."""
    conn.execute(_STARTED, {"id": id, "fire_at": fire_at, "again": again, "run_id": run_id})


def set_refused(conn: Connection, id: str, fire_at: datetime, again: int, error: str) -> None:
    """Its run could not be started."""
    conn.execute(_REFUSED, {"id": id, "fire_at": fire_at, "again": again, "error": error})


def drop_waiting(conn: Connection, id: str) -> int:
    """What waits for its turn gives way; backfills do not. How many."""
    return conn.execute(_DROP, {"id": id}).rowcount


# A gap that goes on where the last one ended, for the same reason, is the same gap.
_EXTEND = text("""
UPDATE schedule_gaps SET last_at = :last, count = count + CAST(:count AS bigint), noted_at = orchestrator_now()
WHERE schedule_id = :id AND reason = :reason AND last_at = :before
  AND first_at = (SELECT max(first_at) FROM schedule_gaps WHERE schedule_id = :id)
RETURNING first_at
""")
_GAP = text("""
INSERT INTO schedule_gaps (schedule_id, first_at, last_at, count, reason) VALUES (:id, :first, :last, :count, :reason)
ON CONFLICT (schedule_id, first_at) DO UPDATE SET last_at = greatest(schedule_gaps.last_at, excluded.last_at),
  count = excluded.count, reason = excluded.reason, noted_at = orchestrator_now()
""")


def note_gap(conn: Connection, id: str, gap: Gap, before: datetime | None) -> None:
    """Fire times that are passed over; `before`: the one before them."""
    values = {"id": id, "first": gap.first, "last": gap.last, "count": gap.count, "reason": gap.reason.value}
    if before is None or conn.execute(_EXTEND, values | {"before": before}).first() is None:
        conn.execute(_GAP, values)


# A run that is no longer there has ended too, and nobody knows how.
_NOTE_ENDED = text(f"""
UPDATE schedule_fires f SET status = coalesce(r.status, 'canceled')
FROM schedule_fires o LEFT JOIN workflow_runs r ON r.id = o.run_id
WHERE f.schedule_id = :id AND f.status = 'started' AND o.schedule_id = f.schedule_id AND o.run_id = f.run_id
  AND coalesce(r.status, 'canceled') IN {_ENDED}
RETURNING f.status, coalesce(r.finished_at, f.decided_at) AS ended_at
""")
_OPEN = text("""
SELECT f.run_id, f.cause = 'backfill' AS backfill, r.status
FROM schedule_fires f LEFT JOIN workflow_runs r ON r.id = f.run_id
WHERE f.schedule_id = :id AND f.status = 'started' ORDER BY f.run_id
""")
_WAITING = text("""
SELECT fire_at, again, cause FROM schedule_fires
WHERE schedule_id = :id AND status = 'waiting' AND (cause = 'backfill') = :backfill
ORDER BY fire_at, again LIMIT :limit
""")
_COUNT_WAITING = text("""
SELECT count(*) FROM schedule_fires WHERE schedule_id = :id AND status = 'waiting' AND cause <> 'backfill'
""")


def note_ended(conn: Connection, id: str) -> list[str]:
    """Note which runs of the schedule have ended, and tell how, in the order of their ends."""
    rows = conn.execute(_NOTE_ENDED, {"id": id}).all()
    return [row.status for row in sorted(rows, key=lambda row: row.ended_at)]


def open_runs(conn: Connection, id: str) -> Sequence[Row[Any]]:
    """Runs of the schedule that were open when last looked at: run_id, backfill, status."""
    return conn.execute(_OPEN, {"id": id}).all()


def list_waiting(conn: Connection, id: str, *, backfill: bool, limit: int) -> Sequence[Row[Any]]:
    """Fire times whose runs wait for their turn: fire_at, again, cause."""
    return conn.execute(_WAITING, {"id": id, "backfill": backfill, "limit": limit}).all()


def count_waiting(conn: Connection, id: str) -> int:
    """How many fire times wait for their turn, backfills not counted."""
    return int(conn.execute(_COUNT_WAITING, {"id": id}).scalar_one())


# The same as in `orchestrator_due`, with which.
_TO_FOLLOW = text(f"""
SELECT f.schedule_id FROM schedule_fires f LEFT JOIN workflow_runs r ON r.id = f.run_id
WHERE f.status = 'started' AND coalesce(r.status, 'canceled') IN {_ENDED}
UNION
SELECT w.schedule_id FROM schedule_fires w JOIN schedules s ON s.id = w.schedule_id
WHERE w.status = 'waiting' AND s.paused_at IS NULL AND (s.overlap = 'cancel_running' OR NOT EXISTS (
  SELECT FROM schedule_fires f WHERE f.schedule_id = w.schedule_id AND f.status = 'started'
    AND (f.cause = 'backfill') = (w.cause = 'backfill')))
LIMIT :limit
""")


def find_to_follow(conn: Connection, limit: int) -> list[str]:
    """Schedules of which a run has ended, or one that waits may begin."""
    return list(conn.execute(_TO_FOLLOW, {"limit": limit}).scalars())


_KNOWN = text("""
SELECT fire_at, max(again) AS again, bool_or(run_id IS NOT NULL OR status = 'waiting') AS taken FROM schedule_fires
WHERE schedule_id = :id AND fire_at BETWEEN :first AND :last AND cause <> 'manual' GROUP BY fire_at
""")


def known_fires(conn: Connection, id: str, first: datetime, last: datetime) -> dict[datetime, tuple[int, bool]]:
    """By fire time of this stretch: the highest `again`, and whether it has a run or is to have one."""
    rows = conn.execute(_KNOWN, {"id": id, "first": first, "last": last})
    return {row.fire_at: (row.again, row.taken) for row in rows}
