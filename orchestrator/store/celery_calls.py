"""The plain Celery tasks that steps have called."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, text

_CALLED = text("""
SELECT c.call FROM workflow_run_steps s
JOIN unnest(CAST(:ids AS uuid[]), CAST(:calls AS text[])) AS c (id, call) ON s.id = c.id
WHERE s.id = ANY(CAST(:ids AS uuid[])) AND s.status IN ('ready', 'queued', 'running', 'waiting')
  AND (s.wait ->> 'id' = c.call OR (s.status = 'running' AND CAST(s.claim_token AS text) = c.call))
""")


def find_called(conn: Connection, calls: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Of these (step id, task id) the tasks that an open attempt has called, or is calling at this moment."""
    values = {"ids": [id for id, _ in calls], "calls": [call for _, call in calls]}
    return frozenset(conn.execute(_CALLED, values).scalars()) if calls else frozenset()


_CANCELED_CALLS = text("""
SELECT wait ->> 'id' FROM workflow_run_steps
WHERE run_id = :run_id AND status = 'canceled' AND wait ->> 'for' = 'celery' ORDER BY position
""")


def find_canceled_calls(conn: Connection, run_id: str) -> list[str]:
    """The Celery tasks that steps of the run waited for when they were canceled."""
    return list(conn.execute(_CANCELED_CALLS, {"run_id": run_id}).scalars())
