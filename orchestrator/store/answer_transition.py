"""The move of a step whose Celery task has answered, as transition.py has all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.transition import Lease

_ANSWERED = text("""
WITH mine AS (
  SELECT s.id, r.revision_id FROM workflow_run_steps s
  JOIN unnest(CAST(:ids AS uuid[]), CAST(:calls AS text[])) AS c (id, call) ON s.id = c.id
  JOIN workflow_runs r ON r.id = s.run_id
  WHERE s.id = ANY(CAST(:ids AS uuid[])) AND s.status = 'waiting' AND s.wait ->> 'for' = 'celery'
    AND s.wait ->> 'id' = c.call
  ORDER BY s.run_id, s.position FOR UPDATE OF s
)
UPDATE workflow_run_steps s SET status = 'running', claim_token = gen_random_uuid(), worker_id = :worker_id,
  queued_at = orchestrator_now(), wake_at = NULL,
  lease_expires_at = orchestrator_now() + make_interval(secs => :lease), error = NULL
FROM mine WHERE s.id = mine.id
RETURNING s.id, s.claim_token, s.run_id, mine.revision_id, s.position, s.attempt, s.queue, s.wait ->> 'id' AS call,
  s.wait -> 'keep' AS keep
""")


def take_answered(conn: Connection, calls: Sequence[tuple[str, str]], lease: Lease) -> Sequence[Row[Any]]:
    """waiting -> running for who brings the answer: the attempts that wait for these (step id, task id)."""
    values = {"ids": [id for id, _ in calls], "calls": [call for _, call in calls]}
    return conn.execute(_ANSWERED, values | {"worker_id": lease.worker_id, "lease": lease.seconds}).all()
