"""Heartbeats and what they learn; progress; attempts whose lease or time has run out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.db import Database
from orchestrator.store.transition import as_text

_BEAT = text("""
WITH mine AS (
  SELECT s.id FROM workflow_run_steps s
  JOIN unnest(CAST(:ids AS uuid[]), CAST(:tokens AS uuid[])) AS c (id, token)
    ON s.id = c.id AND s.claim_token = c.token AND s.status = 'running'
  WHERE s.id = ANY(CAST(:ids AS uuid[]))
  ORDER BY s.run_id, s.position FOR NO KEY UPDATE OF s SKIP LOCKED
)
UPDATE workflow_run_steps s SET lease_expires_at = orchestrator_now() + make_interval(secs => :lease)
WHERE s.id = ANY(ARRAY(SELECT id FROM mine))
RETURNING s.claim_token
""")


def heartbeat(conn: Connection, attempts: Sequence[tuple[str, str]], lease: float) -> set[str]:
    """Extend the leases of these (step id, token) by `lease` seconds from now; the tokens whose leases were extended.

    A row that someone else has locked is passed over, so that it costs no other its lease: whether a token that is
    not among those given still holds is for `held.still_held` to say.
    """
    values = {"ids": [a[0] for a in attempts], "tokens": [a[1] for a in attempts], "lease": lease}
    return set(conn.execute(_BEAT, values).scalars())


_PROGRESS = text("""
UPDATE workflow_run_steps SET progress = coalesce(CAST(:progress AS json), progress)
WHERE id = :id AND claim_token = :token AND status = 'running'
RETURNING cancel_requested_at IS NOT NULL AS cancel_requested
""")


def set_progress(conn: Connection, step_id: str, token: str, progress: Any) -> bool | None:
    """Store progress, fenced. Whether a cancel was asked for; None when the claim no longer holds."""
    return conn.execute(_PROGRESS, {"id": step_id, "token": token, "progress": as_text(progress)}).scalar()


_SET_INPUT = text("""
UPDATE workflow_run_steps SET input = CAST(:input AS json)
WHERE id = :id AND claim_token = :token AND status = 'running'
""")


def set_input(conn: Connection, step_id: str, token: str, input_json: str) -> None:
    """Show the rendered input of an attempt that is still running, fenced."""
    conn.execute(_SET_INPUT, {"id": step_id, "token": token, "input": input_json})


_EXPIRED = text("""
SELECT s.id, s.claim_token, s.run_id, r.revision_id, s.position, s.attempt, s.queue,
  coalesce(w.host || ':' || w.pid, s.worker_id) AS worker, s.lease_expires_at <= orchestrator_now() AS lost,
  extract(epoch FROM s.attempt_deadline_at - s.started_at)::float8 AS timeout
FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id LEFT JOIN workers w ON w.id = s.worker_id
WHERE s.status = 'running' AND (s.lease_expires_at <= orchestrator_now()
  OR s.attempt_deadline_at + make_interval(secs => :grace) <= orchestrator_now())
ORDER BY s.run_id, s.position LIMIT :limit
""")


def find_expired(conn: Connection, grace: float, limit: int) -> Sequence[Row[Any]]:
    """Running attempts whose lease ran out (`lost`) or whose timeout passed by `grace` seconds unanswered."""
    return conn.execute(_EXPIRED, {"grace": grace, "limit": limit}).all()


_OVERDUE_TOTALS = text("""
SELECT id, run_id, position FROM workflow_run_steps
WHERE status IN ('ready', 'queued') AND total_deadline_at <= orchestrator_now()
ORDER BY run_id, position LIMIT :limit
""")


def find_overdue_totals(conn: Connection, limit: int) -> Sequence[Row[Any]]:
    """Steps that wait for an attempt past their `total_timeout`."""
    return conn.execute(_OVERDUE_TOTALS, {"limit": limit}).all()


# Runs (`r`) whose end is open, and hangs on their deadline.
EXPIRES = """r.status IN ('pending', 'running', 'paused', 'canceling') AND r.halting IS NULL
  AND (r.final_status IS NULL OR (r.status = 'canceling' AND EXISTS (
    SELECT FROM workflow_run_steps s WHERE s.run_id = r.id AND s.position < r.step_count
      AND s.status IN ('pending', 'ready', 'queued', 'running', 'waiting'))))"""
_OVERDUE_RUNS = text(f"""
SELECT r.id FROM workflow_runs r WHERE r.deadline_at <= orchestrator_now() AND {EXPIRES}
ORDER BY r.deadline_at LIMIT :limit
""")


def find_overdue_runs(conn: Connection, limit: int) -> list[str]:
    """Open runs past their `timeout` whose end is not decided yet."""
    return list(conn.execute(_OVERDUE_RUNS, {"limit": limit}).scalars())


_UNANSWERED = text("""
UPDATE workflow_run_steps SET queued_at = orchestrator_now()
WHERE id = ANY(ARRAY(
  SELECT id FROM workflow_run_steps
  WHERE status = 'queued' AND queue = :queue AND queued_at <= orchestrator_now() - make_interval(secs => :after)
  ORDER BY queued_at LIMIT :most FOR UPDATE SKIP LOCKED
))
RETURNING id, claim_token
""")


def take_unanswered(conn: Connection, queue: str, after: float, most: int) -> Sequence[Row[Any]]:
    """Queued steps no worker has claimed for `after` seconds, to be sent once more, at most so many, those that wait
    longest; their wait starts anew."""
    return conn.execute(_UNANSWERED, {"queue": queue, "after": after, "most": most}).all()


def count_queued(db: Database, queue: str) -> int:
    """How many steps of a queue the broker has."""
    return int(db.call("SELECT count(*) FROM workflow_run_steps WHERE status = 'queued' AND queue = %s", [queue])[0][0])


def find_due(db: Database, grace: float, resend: float) -> dict[str, bool]:
    """For each of the coordinator's duties, by name, whether there may be something to do.

    `grace` and `resend` as `find_expired` and `take_unanswered` have them.
    """
    rows = db.call("SELECT duty, due FROM orchestrator_due(%s, %s)", [grace, resend])
    return dict(rows)


def _queues(status: str, also: str = "") -> str:
    return f"""(
WITH RECURSIVE live AS (
  (SELECT s.queue FROM workflow_run_steps s WHERE s.status = '{status}' {also} ORDER BY s.queue LIMIT 1)
  UNION ALL
  SELECT (SELECT s.queue FROM workflow_run_steps s WHERE s.status = '{status}' {also} AND s.queue > live.queue
          ORDER BY s.queue LIMIT 1)
  FROM live WHERE live.queue IS NOT NULL
)
SELECT queue FROM live WHERE queue IS NOT NULL)"""


QUEUES_QUEUED = _queues("queued")
QUEUES_READY = _queues("ready", "AND s.next_attempt_at IS NULL AND s.held_at IS NULL")


# One index probe a queue.
def queues_with_queued(db: Database) -> set[str]:
    """Queues whose steps the broker has."""
    return {row[0] for row in db.call(QUEUES_QUEUED, [])}


def queues_with_ready(db: Database) -> set[str]:
    """Queues with steps that are ready, due and not held."""
    return {row[0] for row in db.call(QUEUES_READY, [])}


def queues_in_use(db: Database) -> set[str]:
    """Both."""
    return {row[0] for row in db.call(f"{QUEUES_QUEUED} UNION {QUEUES_READY}", [])}


_NEXT_DUE = text(f"""
WITH tree AS (
  SELECT id FROM workflow_runs WHERE root_id = (SELECT root_id FROM workflow_runs WHERE id = :id)
)
SELECT extract(epoch FROM least(
  (SELECT min(CASE status WHEN 'running' THEN attempt_deadline_at
      ELSE least(next_attempt_at, wake_at, total_deadline_at) END)
   FROM workflow_run_steps
   WHERE run_id = ANY(ARRAY(SELECT id FROM tree)) AND status IN ('ready', 'queued', 'running', 'waiting')),
  (SELECT min(r.deadline_at) FROM workflow_runs r WHERE r.id = ANY(ARRAY(SELECT id FROM tree)) AND {EXPIRES})
  ) - orchestrator_now())::float8
""")


def next_due(conn: Connection, run_id: str) -> float | None:
    """Seconds until the next retry or deadline of the run, or of one below or above it; None when there is none."""
    due: float | None = conn.execute(_NEXT_DUE, {"id": run_id}).scalar_one()
    return due
