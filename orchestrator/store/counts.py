"""Counters that only rise, counted from the history of runs whenever somebody looks at them.

Nothing is added to the hot path: events of runs are there anyway. Each is counted exactly once, also those of
transactions that end later than others which began after them: a look counts the events of the transactions between two
horizons, and behind a horizon all transactions have ended. Which ids such events may have at the least is known from
an earlier look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

# By the kind of event: what the counter is called in `metric_counts`.
KINDS = ("run.started", "run.succeeded", "run.failed", "run.canceled", "step.failed", "step.retry", "step.lost")
MOST_EVENTS = 1_000_000  # that a look goes through; what came before that while nobody looked is not counted
# An id may be taken a moment before its transaction is known as one that writes.
_MARGIN = 10_000
_XIDS = 1 << 32

_NOW = text("""
SELECT CAST(CAST(pg_snapshot_xmin(s) AS text) AS bigint) AS horizon,
  CAST(CAST(pg_snapshot_xmax(s) AS text) AS bigint) AS next, (SELECT coalesce(max(id), 0) FROM run_events) AS last
FROM pg_current_snapshot() AS s
""")
_MARK = text("SELECT counted_xid, low_event, mark_xid, mark_event FROM metric_mark FOR UPDATE SKIP LOCKED")
_BEGUN = text("SELECT EXISTS (SELECT FROM metric_mark)")
_BEGIN = text("""
INSERT INTO metric_mark (one, counted_xid, low_event, mark_xid, mark_event)
VALUES (true, :horizon, :low, :next, :low) ON CONFLICT DO NOTHING
""")
_MOVE = text("""
UPDATE metric_mark SET counted_xid = :horizon, low_event = :low, mark_xid = :mark_xid, mark_event = :mark_event
""")
_COUNT = text(f"""
INSERT INTO metric_counts AS c (name, app, workflow, count)
SELECT e.kind, coalesce(a.name, ''), coalesce(w.name, ''), count(*)
FROM run_events e LEFT JOIN workflow_runs r ON r.id = e.run_id LEFT JOIN apps a ON a.id = r.app_id
LEFT JOIN workflows w ON w.id = r.workflow_id
WHERE e.id > :low AND e.kind = ANY(CAST(:kinds AS text[]))
  AND mod(CAST(CAST(e.xmin AS text) AS bigint) - mod(:counted, {_XIDS}) + {_XIDS}, {_XIDS}) < :span
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
ON CONFLICT (name, app, workflow) DO UPDATE SET count = c.count + excluded.count
""")

_READ = text("SELECT name, app, workflow, count AS counted FROM metric_counts ORDER BY name, app, workflow")


def count_events(conn: Connection) -> None:
    """Count what has come since the last look; nothing while another does."""
    mark = conn.execute(_MARK).first()
    now = conn.execute(_NOW).one()
    low = max(now.last - _MARGIN, 0)
    if mark is None:
        if conn.execute(_BEGUN).scalar_one():
            return
        conn.execute(_BEGIN, {"horizon": now.horizon, "low": low, "next": now.next})
        return
    # A database that was restored elsewhere counts its transactions anew.
    whole = now.horizon >= mark.counted_xid and now.last - mark.low_event <= MOST_EVENTS
    if whole:
        span = now.horizon - mark.counted_xid
        values = {"low": mark.low_event, "counted": mark.counted_xid, "span": span}
        conn.execute(_COUNT, values | {"kinds": list(KINDS)})
    _move(conn, mark, now, low, whole)


def _move(conn: Connection, mark: Row[Any], now: Row[Any], low: int, whole: bool) -> None:
    """Events of transactions that may still come have ids above `mark_event` once all before `mark_xid` have ended."""
    passed = not whole or now.horizon >= mark.mark_xid
    values = {
        "horizon": now.horizon,
        "low": (mark.mark_event if whole else low) if passed else mark.low_event,
        "mark_xid": now.next if passed else mark.mark_xid,
        "mark_event": low if passed else mark.mark_event,
    }
    conn.execute(_MOVE, values)


def read_counts(conn: Connection) -> Sequence[Row[Any]]:
    """Name (of `KINDS`), app, workflow, counted."""
    return conn.execute(_READ).all()
