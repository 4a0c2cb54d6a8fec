"""Histories that are no run's, and how each is kept from growing for ever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text

_DAY = 86400


@dataclass(frozen=True, slots=True)
class History:
    """`keep_seconds`: unless a rule says otherwise; None is for ever. `oldest`: finds the oldest :limit rows of `table`
    that are to go, by an index on their time, or in a table that is small."""

    name: str
    about: str
    table: str
    keep_seconds: int | None
    oldest: str


_CUT = "orchestrator_now() - make_interval(secs => :keep)"
# Each is a name that a rule may name. Nothing of them is part of a run (store/removal.py).
HISTORIES: Mapping[str, History] = {
    history.name: history
    for history in (
        History(
            "schedule_fires",
            "what was decided at the fire times of schedules",
            "schedule_fires",
            90 * _DAY,
            f"""SELECT f.ctid FROM schedules s, LATERAL (
              SELECT o.ctid FROM schedule_fires o
              WHERE o.schedule_id = s.id AND o.fire_at < {_CUT} AND o.status NOT IN ('waiting', 'started')
              ORDER BY o.fire_at LIMIT :limit FOR UPDATE SKIP LOCKED) f LIMIT :limit""",
        ),
        History(
            "schedule_gaps",
            "fire times of schedules that were passed over",
            "schedule_gaps",
            90 * _DAY,
            f"""SELECT g.ctid FROM schedules s, LATERAL (
              SELECT o.ctid FROM schedule_gaps o WHERE o.schedule_id = s.id AND o.last_at < {_CUT}
              ORDER BY o.last_at LIMIT :limit FOR UPDATE SKIP LOCKED) g LIMIT :limit""",
        ),
        History(
            "tokens",
            "tokens that were revoked or have expired",
            "api_tokens",
            90 * _DAY,
            f"""SELECT ctid FROM api_tokens WHERE least(revoked_at, expires_at) < {_CUT}
              LIMIT :limit FOR UPDATE SKIP LOCKED""",
        ),
        History(
            "hook_calls",
            "calls of webhooks that would be refused for their age",
            "hook_calls",
            0,
            f"""SELECT ctid FROM hook_calls WHERE expires_at < {_CUT}
              ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED""",
        ),
        History(
            "alert_deliveries",
            "messages of alerts that were sent or given up",
            "alert_deliveries",
            30 * _DAY,
            f"""SELECT ctid FROM alert_deliveries WHERE due_at IS NULL AND created_at < {_CUT}
              ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED""",
        ),
        History(
            "alerts",
            "alerts that are over and have no message any more",
            "alerts",
            30 * _DAY,
            f"""SELECT l.ctid FROM alerts l WHERE l.closed_at < {_CUT}
              AND NOT EXISTS (SELECT FROM alert_deliveries d WHERE d.alert_id = l.id)
              LIMIT :limit FOR UPDATE SKIP LOCKED""",
        ),
        History(
            "audit_log",
            "what people did",
            "audit_log",
            None,
            f"SELECT ctid FROM audit_log WHERE at < {_CUT} ORDER BY at LIMIT :limit FOR UPDATE SKIP LOCKED",
        ),
    )
}


def forget(conn: Connection, history: History, keep_seconds: int, limit: int) -> int:
    """Remove the oldest rows, `limit` at most, that are older than that; how many."""
    gone = text(f"""
WITH gone AS (DELETE FROM {history.table} WHERE ctid = ANY(ARRAY({history.oldest})) RETURNING 1)
SELECT count(*) FROM gone
""")
    return int(conn.execute(gone, {"keep": keep_seconds, "limit": limit}).scalar_one())
