"""How many runs of a workflow are active, per value of its `concurrency_key`, and who waits for a turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

# One lock a workflow and key, held to the end of the transaction: who counts, counts alone.
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended(:workflow_id || :key, 7))")


def lock_limit(conn: Connection, workflow_id: str, key: str) -> None:
    """Let nobody else start or admit runs that count for this limit, until the transaction ends."""
    conn.execute(_LOCK, {"workflow_id": workflow_id, "key": key})


_ACTIVE = "workflow_id = :workflow_id AND limit_key = :key AND status IN ('running', 'paused', 'canceling')"
_COUNT = text(f"SELECT count(*) FROM workflow_runs WHERE {_ACTIVE}")


def count_active(conn: Connection, workflow_id: str, key: str) -> int:
    """How many runs are active: running, paused or canceling."""
    return int(conn.execute(_COUNT, {"workflow_id": workflow_id, "key": key}).scalar_one())


_OLDEST = text(f"SELECT id FROM workflow_runs WHERE {_ACTIVE} AND status <> 'canceling' ORDER BY id LIMIT 1")


def oldest_active(conn: Connection, workflow_id: str, key: str) -> str | None:
    """The run that is active longest and not canceled yet."""
    return conn.execute(_OLDEST, {"workflow_id": workflow_id, "key": key}).scalar()


_STAND = text("""
SELECT count(*) FILTER (WHERE status = 'pending') > count(*) FILTER (WHERE status = 'canceling') FROM workflow_runs
WHERE workflow_id = :workflow_id AND limit_key = :key AND status IN ('pending', 'canceling')
""")


def needs_room(conn: Connection, workflow_id: str, key: str) -> bool:
    """Whether more runs wait for a turn than are on their way out."""
    return bool(conn.execute(_STAND, {"workflow_id": workflow_id, "key": key}).scalar_one())


_NEXT = text("""
SELECT id, revision_id FROM workflow_runs
WHERE workflow_id = :workflow_id AND limit_key = :key AND status = 'pending' ORDER BY id LIMIT 1
""")


def next_pending(conn: Connection, workflow_id: str, key: str) -> Row[Any] | None:
    """The run whose turn is next."""
    return conn.execute(_NEXT, {"workflow_id": workflow_id, "key": key}).first()


_LIMITS = text("""
WITH RECURSIVE awaited AS (
  (SELECT workflow_id, limit_key FROM workflow_runs WHERE status = 'pending' AND limit_key IS NOT NULL
   ORDER BY workflow_id, limit_key LIMIT 1)
  UNION ALL
  SELECT n.workflow_id, n.limit_key FROM awaited a CROSS JOIN LATERAL (
    SELECT r.workflow_id, r.limit_key FROM workflow_runs r WHERE r.status = 'pending' AND r.limit_key IS NOT NULL
      AND (r.workflow_id, r.limit_key) > (a.workflow_id, a.limit_key)
    ORDER BY r.workflow_id, r.limit_key LIMIT 1
  ) n
)
SELECT workflow_id, limit_key FROM awaited LIMIT :limit
""")


def find_awaited(conn: Connection, limit: int) -> Sequence[Row[Any]]:
    """The (workflow_id, limit_key) that runs wait for: one index probe each."""
    return conn.execute(_LIMITS, {"limit": limit}).all()
