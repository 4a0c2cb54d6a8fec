"""Moves of a step that only an operator makes: marked, held and released (all others: transition.py)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

from orchestrator.domain.states import Reason, StepStatus

# An attempt that is cut off enters the history as canceled; whatever it still does is dropped.
_MARK = text("""
WITH was AS (
  SELECT id, status FROM workflow_run_steps WHERE run_id = :run_id AND position = :position AND status <> 'succeeded'
), moved AS (
  UPDATE workflow_run_steps s SET status = :status, reason = :reason, output = CAST(:output AS json), error = NULL,
    progress = NULL, wake_at = NULL, claim_token = NULL, lease_expires_at = NULL, attempt_deadline_at = NULL,
    total_deadline_at = NULL, next_attempt_at = NULL, cancel_requested_at = NULL, finished_at = orchestrator_now(),
    held_at = NULL, held_by = NULL, hold_reason = NULL, reused_step_id = NULL,
    items_stop = CASE WHEN s.items_open > 0 THEN :reason END
  FROM was WHERE s.id = was.id
  RETURNING s.id, s.attempt, s.worker_id, s.started_at, was.status AS was_status
), tried AS (
  INSERT INTO workflow_step_attempts (step_id, number, outcome, worker_id, started_at, finished_at)
  SELECT id, attempt, 'canceled', worker_id, started_at, orchestrator_now() FROM moved WHERE was_status = 'running'
)
SELECT id FROM moved
""")


def mark_step(conn: Connection, run_id: str, position: int, status: StepStatus, output_json: str | None) -> str:
    """Any state but succeeded -> succeeded or skipped; the step's id. Its row is locked by the caller."""
    values = {"run_id": run_id, "position": position, "status": status.value, "reason": Reason.MARKED.value}
    return str(conn.execute(_MARK, values | {"output": output_json}).scalar_one())


@dataclass(frozen=True, slots=True)
class HeldStep:
    """A locked step, and whether it is held: `by` whom."""

    id: str
    position: int
    status: StepStatus
    queue: str | None
    by: str | None


_LOCK = text("""
SELECT id, position, status, queue, held_by FROM workflow_run_steps WHERE run_id = :run_id AND name = :name
ORDER BY position LIMIT 1 FOR UPDATE
""")


def lock_named(conn: Connection, run_id: str, name: str) -> HeldStep | None:
    """The step of this name, locked; None when the run has no row of it."""
    row = conn.execute(_LOCK, {"run_id": run_id, "name": name}).first()
    return None if row is None else HeldStep(row.id, row.position, StepStatus(row.status), row.queue, row.held_by)


_HOLD = text("""
UPDATE workflow_run_steps SET held_at = orchestrator_now(), held_by = :actor, hold_reason = :reason,
  status = CASE WHEN status = 'queued' THEN 'ready' ELSE status END,
  queued_at = CASE WHEN status = 'queued' THEN NULL ELSE queued_at END,
  claim_token = CASE WHEN status = 'queued' THEN NULL ELSE claim_token END
WHERE id = :id
""")


def hold_step(conn: Connection, step_id: str, actor: str, reason: str | None) -> None:
    """Keep a locked step from starting; queued -> ready: its message dies by the token."""
    conn.execute(_HOLD, {"id": step_id, "actor": actor, "reason": reason})


_RELEASE = text("UPDATE workflow_run_steps SET held_at = NULL, held_by = NULL, hold_reason = NULL WHERE id = :id")


def release_step(conn: Connection, step_id: str) -> None:
    """Let a locked step start again, at the place in its queue it had."""
    conn.execute(_RELEASE, {"id": step_id})
