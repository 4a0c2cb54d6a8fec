"""What may keep a step or its run from going on, beyond the step's own row."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

_PAUSED_BY = text("""
SELECT data ->> 'actor' FROM run_events WHERE run_id = :run_id AND kind = :kind ORDER BY id DESC LIMIT 1
""")


def who_did(conn: Connection, run_id: str, kind: str) -> str | None:
    """Who did this to the run last, by the kind of its event (`run.paused`, `run.cancel`)."""
    return conn.execute(_PAUSED_BY, {"run_id": run_id, "kind": kind}).scalar()


_ACTIVE = text("""
SELECT a.id FROM workflow_runs r JOIN workflow_runs a ON a.workflow_id = r.workflow_id AND a.limit_key = r.limit_key
WHERE r.id = :run_id AND a.status IN ('running', 'paused', 'canceling') AND a.limit_key IS NOT NULL
ORDER BY a.id LIMIT :limit
""")


def active_before(conn: Connection, run_id: str, limit: int) -> list[str]:
    """The runs whose turn it is while this one waits for its own, oldest first."""
    return list(conn.execute(_ACTIVE, {"run_id": run_id, "limit": limit}).scalars())


# In the order of a dispatch, counted to a bound: a backlog may be long.
_AHEAD = text("""
SELECT count(*) FROM (
  SELECT 1 FROM workflow_run_steps o,
    (SELECT * FROM workflow_run_steps WHERE run_id = :run_id AND position = :position) s
  WHERE o.status = 'ready' AND o.next_attempt_at IS NULL AND o.held_at IS NULL AND o.queue = s.queue
    AND NOT (o.pool IS NOT NULL AND o.wait IS NULL)
    AND (o.priority > s.priority OR (o.priority = s.priority AND (o.ready_at, o.id) < (s.ready_at, s.id)))
  LIMIT :limit
) ahead
""")


def count_ahead(conn: Connection, run_id: str, position: int, limit: int) -> int:
    """How many ready steps of its queue go before the one at `position`; at most `limit` are counted."""
    return int(conn.execute(_AHEAD, {"run_id": run_id, "position": position, "limit": limit}).scalar_one())


_BUSY = text("""
SELECT s.run_id, s.name, orchestrator_now() - s.started_at AS since FROM workflow_run_steps s
WHERE s.status = 'running' AND s.worker_id = ANY(:workers) ORDER BY s.started_at LIMIT :limit
""")


def longest_running(conn: Connection, workers: list[str], limit: int) -> list[Row[Any]]:
    """The steps that these workers are at longest."""
    return list(conn.execute(_BUSY, {"workers": workers, "limit": limit}))
