"""Portions of the events of runs, each event in exactly one, whenever its transaction ends.

A portion holds the events of the transactions between two horizons; behind a horizon all transactions have ended.
Which ids such events may have at the least is known from an earlier look.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, text

from orchestrator.domain.archive import IMPORTED

Mark = Literal["alert_mark", "metric_mark", "trace_mark"]
# An id may be taken a moment before its transaction is known as one that writes.
_MARGIN = 10_000
_XIDS = 1 << 32
# Whether the event `e` is of the portion that gives these values.
OF_PORTION = f"""
e.id > :low AND mod(CAST(CAST(e.xmin AS text) AS bigint) - mod(:counted, {_XIDS}) + {_XIDS}, {_XIDS}) < :span
"""

# Whether `e` is of no transaction before the one whose id is the value of this name.
SINCE = f"mod(CAST(CAST(e.xmin AS text) AS bigint) - mod(:{{}}, {_XIDS}) + {_XIDS}, {_XIDS}) < {_XIDS // 2}"
# Whether `e` happened here: a run that is imported brings its events along, and this one comes behind them. It is asked
# in a scalar subquery, by an index for each event: for an anti-join the planner might read all events.
HAPPENED_HERE = f"""
(SELECT i.id FROM run_events i WHERE i.run_id = e.run_id AND i.id > e.id AND i.kind = '{IMPORTED}' LIMIT 1) IS NULL
"""

_NOW = text("""
SELECT CAST(CAST(pg_snapshot_xmin(s) AS text) AS bigint) AS horizon,
  CAST(CAST(pg_snapshot_xmax(s) AS text) AS bigint) AS next, (SELECT coalesce(max(id), 0) FROM run_events) AS last
FROM pg_current_snapshot() AS s
""")
_MARK = "SELECT counted_xid, low_event, mark_xid, mark_event FROM {mark} FOR UPDATE SKIP LOCKED"
_BEGUN = "SELECT EXISTS (SELECT FROM {mark})"
_BEGIN = """
INSERT INTO {mark} (one, counted_xid, low_event, mark_xid, mark_event)
VALUES (true, :horizon, :low, :next, :low) ON CONFLICT (one) DO UPDATE SET counted_xid = excluded.counted_xid,
  low_event = excluded.low_event, mark_xid = excluded.mark_xid, mark_event = excluded.mark_event
"""
_TO = "SET counted_xid = :horizon, low_event = :low, mark_xid = :mark_xid, mark_event = :mark_event"
_MOVE = {
    "alert_mark": text(f"UPDATE alert_mark {_TO}"),
    "metric_mark": text(f"UPDATE metric_mark {_TO}"),
    "trace_mark": text(f"UPDATE trace_mark {_TO}"),
}


@dataclass(frozen=True, slots=True)
class Portion:
    """The values of `OF_PORTION`."""

    low: int
    counted: int
    span: int


def next_portion(conn: Connection, mark: Mark, most: int) -> Portion | None:
    """The events since the last look, which are then looked at if the transaction commits.

    None while another looks, at the first look, with which it begins, and when more than `most` have come, or the
    database was restored elsewhere and counts its transactions anew: what came before that is passed over.
    """
    held = hold(conn, mark)
    if held is None:
        if not conn.execute(text(_BEGUN.format(mark=mark))).scalar_one():
            begin(conn, mark)
        return None
    return move(conn, mark, held, most)


def begin(conn: Connection, mark: Mark) -> None:
    """Look from now on."""
    now = conn.execute(_NOW).one()
    values = {"horizon": now.horizon, "low": max(now.last - _MARGIN, 0), "next": now.next}
    conn.execute(text(_BEGIN.format(mark=mark)), values)


def hold(conn: Connection, mark: Mark) -> Row[Any] | None:
    """The mark, for the rest of the transaction; None while somebody else has it, or when there is none."""
    return conn.execute(text(_MARK.format(mark=mark))).first()


def move(conn: Connection, mark: Mark, held: Row[Any], most: int | None = None) -> Portion | None:
    """What `next_portion` gives, with the mark in hand; without `most` however many there are."""
    now = conn.execute(_NOW).one()
    many = most is not None and now.last - held.low_event > most
    whole = now.horizon >= held.counted_xid and not many
    conn.execute(_MOVE[mark], _moved(held, now, max(now.last - _MARGIN, 0), whole))
    return Portion(held.low_event, held.counted_xid, now.horizon - held.counted_xid) if whole else None


def _moved(held: Row[Any], now: Row[Any], low: int, whole: bool) -> dict[str, int]:
    """Events of transactions that may still come have ids above `mark_event` once all before `mark_xid` have ended."""
    passed = not whole or now.horizon >= held.mark_xid
    return {
        "horizon": now.horizon,
        "low": (held.mark_event if whole else low) if passed else held.low_event,
        "mark_xid": now.next if passed else held.mark_xid,
        "mark_event": low if passed else held.mark_event,
    }
