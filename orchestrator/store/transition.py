"""The writer of step statuses: every move of a step is a named transition, here but for those that the answer of a
Celery task makes (answer_transition.py). Of runs: run_transition.py.

A transition that finds no row in the state it expects changes nothing and returns nothing: its caller was late.
Transitions of claimed steps are fenced by the claim token. domain/states.py lists the moves; a test compares.

Rows to change are named by `= ANY(...)`: a join is planned by statistics, and those of a table that was empty when it
was last analyzed make it read every row for each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.cascade import Change
from orchestrator.domain.outcome import ErrorInfo
from orchestrator.domain.states import Reason, StepStatus


@dataclass(frozen=True, slots=True)
class Lease:
    """Who runs a claimed step, and for how many seconds without a heartbeat."""

    worker_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Queued:
    """A step handed to the broker."""

    step_id: str
    token: str


def as_text(value: Any) -> str | None:
    """JSON text for a json column; None is SQL NULL."""
    return None if value is None else json.dumps(value, allow_nan=False, separators=(",", ":"))


def _error(error: ErrorInfo | None) -> str | None:
    return as_text(error.as_json()) if error else None


# For statements of the writers of statuses: `moved` is what left `running`.
ATTEMPT = """
tried AS (
  INSERT INTO workflow_step_attempts (step_id, number, outcome, error, worker_id, started_at, finished_at, retry_at)
  SELECT id, attempt, :outcome, CAST(:error AS json), was_worker, started_at, orchestrator_now(), next_attempt_at
  FROM moved
)
"""

# A step that left `running` keeps worker_id: who ran it last.
_FINISH = text(f"""
WITH moved AS (
  UPDATE workflow_run_steps SET status = :status, reason = :reason, output = CAST(:output AS json),
    error = CAST(:error AS json), input = coalesce(CAST(:input AS json), input), finished_at = orchestrator_now(),
    items_stop = CASE WHEN :status = 'failed' AND items_open > 0 THEN CAST(:reason AS text) END,
    claim_token = NULL, lease_expires_at = NULL, attempt_deadline_at = NULL, total_deadline_at = NULL
  WHERE id = :id AND claim_token = :token AND status = 'running'
  RETURNING id, attempt, worker_id AS was_worker, started_at, next_attempt_at
), {ATTEMPT}
SELECT id FROM moved
""")


def finish_attempt(
    conn: Connection,
    step_id: str,
    token: str,
    status: StepStatus,
    *,
    outcome: str,
    reason: Reason | None = None,
    error: ErrorInfo | None = None,
    output_json: str | None = None,
    input_json: str | None = None,
) -> bool:
    """running -> succeeded, failed, skipped or canceled, fenced; False when the claim no longer holds."""
    values = {"status": status.value, "reason": reason, "outcome": outcome, "error": _error(error)}
    values |= {"id": step_id, "token": token, "output": output_json, "input": input_json}
    return conn.execute(_FINISH, values).first() is not None


_RETRY = text(f"""
WITH moved AS (
  UPDATE workflow_run_steps SET status = 'ready', error = CAST(:error AS json), lost_count = lost_count + :lost,
    input = coalesce(CAST(:input AS json), input), queued_at = NULL, claim_token = NULL, lease_expires_at = NULL,
    attempt_deadline_at = CASE WHEN :lost = 1 AND wait IS NOT NULL THEN attempt_deadline_at END,
    wait = CASE WHEN :lost = 1 THEN wait END, ready_at = orchestrator_now() + make_interval(secs => :delay),
    next_attempt_at = CASE WHEN :delay > 0 THEN orchestrator_now() + make_interval(secs => :delay) END
  WHERE id = :id AND claim_token = :token AND status = 'running'
  RETURNING id, attempt, worker_id AS was_worker, started_at, next_attempt_at
), {ATTEMPT}
SELECT id FROM moved
""")


def retry_attempt(
    conn: Connection,
    step_id: str,
    token: str,
    delay: float,
    *,
    outcome: str,
    error: ErrorInfo | None,
    lost: bool = False,
    input_json: str | None = None,
) -> bool:
    """running -> ready, due in `delay` seconds, fenced; `lost` counts the attempt as lost."""
    values = {"id": step_id, "token": token, "delay": float(delay), "outcome": outcome, "error": _error(error)}
    return conn.execute(_RETRY, values | {"lost": int(lost), "input": input_json}).first() is not None


# The rows are named twice: by the join alone the planner would read the whole run for one row.
_APPLY = text("""
UPDATE workflow_run_steps s SET
  remaining_sources = c.remaining, satisfied_sources = c.satisfied, failed_sources = c.failed,
  upstream_failed_sources = c.upstream_failed, skipped_sources = c.skipped, edge_errors = c.edge_errors,
  edge_truth = coalesce(CAST(c.truth AS json), s.edge_truth), queue = coalesce(c.queue, s.queue),
  status = coalesce(c.status, s.status), reason = coalesce(c.reason, s.reason),
  error = coalesce(CAST(c.error AS json), s.error), output = coalesce(CAST(c.output AS json), s.output),
  ready_at = CASE WHEN c.status = 'ready' THEN orchestrator_now() ELSE s.ready_at END,
  finished_at = CASE WHEN c.status IN ('succeeded', 'skipped', 'upstream_failed', 'failed', 'canceled')
    THEN orchestrator_now() ELSE s.finished_at END
FROM unnest(
  CAST(:position AS int[]), CAST(:remaining AS int[]), CAST(:satisfied AS int[]), CAST(:failed AS int[]),
  CAST(:upstream_failed AS int[]), CAST(:skipped AS int[]), CAST(:edge_errors AS int[]), CAST(:truth AS text[]),
  CAST(:status AS text[]), CAST(:reason AS text[]), CAST(:error AS text[]), CAST(:output AS text[]),
  CAST(:queue AS text[])
) AS c (position, remaining, satisfied, failed, upstream_failed, skipped, edge_errors, truth, status, reason, error,
  output, queue)
WHERE s.run_id = :run_id AND s.position = c.position AND s.position = ANY(CAST(:position AS int[]))
""")


def apply_changes(conn: Connection, run_id: str, changes: Sequence[Change]) -> None:
    """pending -> ready, succeeded (a pass step), skipped, upstream_failed or failed; tallies as counted.

    The rows are locked by the caller, who decided on what it read under the lock.
    """
    if not changes:
        return
    columns: dict[str, list[Any]] = {
        "position": [c.position for c in changes],
        "remaining": [c.tally.remaining for c in changes],
        "satisfied": [c.tally.satisfied for c in changes],
        "failed": [c.tally.failed for c in changes],
        "upstream_failed": [c.tally.upstream_failed for c in changes],
        "skipped": [c.tally.skipped for c in changes],
        "edge_errors": [c.tally.edge_errors for c in changes],
        "truth": [as_text(c.edge_truth) if c.edge_truth else None for c in changes],
        "status": [c.status for c in changes],
        "reason": [c.reason for c in changes],
        "error": [_error(c.error) for c in changes],
        "output": [as_text(c.output) for c in changes],
        "queue": [c.queue for c in changes],
    }
    conn.execute(_APPLY, columns | {"run_id": run_id})


_TAKE = text("""
UPDATE workflow_run_steps s SET status = 'running', claim_token = gen_random_uuid(), worker_id = :worker_id,
  attempt = s.attempt + 1, queued_at = orchestrator_now(),
  started_at = CASE WHEN s.wait IS NULL THEN orchestrator_now() ELSE s.started_at END,
  lease_expires_at = orchestrator_now() + make_interval(secs => :lease)
FROM workflow_runs r
WHERE s.run_id = :run_id AND s.position = :position AND s.status = 'ready' AND s.next_attempt_at IS NULL
  AND s.pool IS NULL AND s.held_at IS NULL
  AND r.id = s.run_id AND r.status IN ('running', 'canceling') AND r.halting IS NULL
RETURNING s.id, s.claim_token, s.run_id, r.revision_id, s.position, s.attempt, s.queue
""")


def take(conn: Connection, run_id: str, position: int, lease: Lease) -> Any | None:
    """ready -> running for the worker that just made the step ready, in the same transaction."""
    wanted = {"run_id": run_id, "position": position, "worker_id": lease.worker_id, "lease": lease.seconds}
    return conn.execute(_TAKE, wanted).first()


# Also between its halves. What waits for its turn has not called its function yet.
BEGAN_TO_WAIT = "coalesce(wait ->> 'for' <> 'rate', false)"
_CANCEL_OPEN = text(f"""
UPDATE workflow_run_steps SET status = 'canceled', reason = :reason, finished_at = orchestrator_now(),
  claim_token = NULL, next_attempt_at = NULL, total_deadline_at = NULL, attempt_deadline_at = NULL, wake_at = NULL
WHERE run_id = :run_id AND position < :below AND status = ANY(:statuses) AND NOT (:spare AND {BEGAN_TO_WAIT})
  AND (:children OR status <> 'waiting' OR wait ->> 'for' <> 'child')
RETURNING position
""")


def cancel_unstarted(
    conn: Connection, run_id: str, reason: Reason, below: int, *, waiting: bool = True, children: bool = True
) -> list[int]:
    """pending, ready, queued and waiting -> canceled, for positions under `below` (handlers lie above).

    Without `waiting` those are spared that have begun to wait for something, and those that go on after it; without
    `children` those that wait for a child run.
    """
    statuses = ["pending", "ready", "queued", "waiting"]
    wanted = {"run_id": run_id, "reason": reason.value, "below": below, "statuses": statuses}
    wanted |= {"spare": not waiting, "children": children}
    return sorted(conn.execute(_CANCEL_OPEN, wanted).scalars())


_CANCEL_RUNNING = text(f"""
WITH was AS (
  SELECT id, worker_id AS was_worker FROM workflow_run_steps
  WHERE run_id = :run_id AND position < :below AND status = 'running'
), moved AS (
  UPDATE workflow_run_steps s SET status = 'canceled', reason = :reason, error = CAST(:error AS json),
    finished_at = orchestrator_now(), claim_token = NULL, lease_expires_at = NULL, attempt_deadline_at = NULL,
    total_deadline_at = NULL
  FROM was WHERE s.id = was.id
  RETURNING s.id, s.attempt, was.was_worker, s.started_at, s.next_attempt_at, s.position
), {ATTEMPT}
SELECT position FROM moved
""")


def cancel_running(conn: Connection, run_id: str, reason: Reason, below: int) -> list[int]:
    """running -> canceled at once: the attempts are fenced off, whatever they still do is dropped."""
    wanted = {"run_id": run_id, "reason": reason.value, "below": below, "outcome": "canceled", "error": None}
    return sorted(conn.execute(_CANCEL_RUNNING, wanted).scalars())


_SUSPEND = text("""
UPDATE workflow_run_steps SET status = 'waiting', wait = CAST(:wait AS json),
  input = coalesce(CAST(:input AS json), input),
  wake_at = least(orchestrator_now() + make_interval(secs => CAST(:seconds AS float8)), attempt_deadline_at,
    total_deadline_at),
  queued_at = NULL, claim_token = NULL, lease_expires_at = NULL, progress = NULL
WHERE id = :id AND claim_token = :token AND status = 'running'
RETURNING id
""")


def suspend_attempt(
    conn: Connection, step_id: str, token: str, wait: Mapping[str, Any], seconds: float | None, input_json: str | None
) -> bool:
    """running -> waiting, fenced: the attempt goes on, and no worker holds it. False when the claim no longer holds.

    It is woken after `seconds`, if these are given, and at its deadlines.
    """
    values = {"id": step_id, "token": token, "wait": as_text(wait), "seconds": seconds, "input": input_json}
    return conn.execute(_SUSPEND, values).first() is not None


# The attempt is counted again by the claim that goes on with it.
_WOKEN = """
UPDATE workflow_run_steps SET status = 'ready', ready_at = orchestrator_now(), wake_at = NULL, attempt = attempt - 1
WHERE id = ANY(ARRAY(SELECT id FROM workflow_run_steps WHERE status = 'waiting' AND {which}))
RETURNING queue
"""
_WAKE = text(_WOKEN.format(which="id = ANY(CAST(:ids AS uuid[])) ORDER BY run_id, position FOR UPDATE"))
_DUE = "wake_at <= orchestrator_now() ORDER BY wake_at LIMIT :limit FOR UPDATE SKIP LOCKED"
_WAKE_DUE = text(_WOKEN.format(which=_DUE))


def wake(conn: Connection, step_ids: Sequence[str]) -> set[str]:
    """waiting -> ready, for a worker to go on with their attempts; the queues concerned."""
    return set(conn.execute(_WAKE, {"ids": list(step_ids)}).scalars())


def wake_due(conn: Connection, limit: int) -> set[str]:
    """The same for steps that have waited for as long as they were to."""
    return set(conn.execute(_WAKE_DUE, {"limit": limit}).scalars())


_FAIL_UNCLAIMED = text("""
UPDATE workflow_run_steps SET status = 'failed', reason = :reason, error = CAST(:error AS json),
  items_stop = CASE WHEN items_open > 0 THEN :reason END, finished_at = orchestrator_now(),
  claim_token = NULL, next_attempt_at = NULL, total_deadline_at = NULL
WHERE id = :id AND status IN ('ready', 'queued')
RETURNING id
""")


def fail_unclaimed(conn: Connection, step_id: str, reason: Reason, error: ErrorInfo) -> bool:
    """ready or queued -> failed (its total_timeout ran out while it waited)."""
    values = {"id": step_id, "reason": reason.value, "error": _error(error)}
    return conn.execute(_FAIL_UNCLAIMED, values).first() is not None


_PAUSED = text("""
SELECT id FROM workflow_runs WHERE status = 'paused' AND (CAST(:run_id AS uuid) IS NULL OR id = :run_id)
""")
_UNQUEUE = text("""
UPDATE workflow_run_steps SET status = 'ready', claim_token = NULL, queued_at = NULL
WHERE id = ANY(ARRAY(
  SELECT s.id FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id
  WHERE s.run_id = ANY(CAST(:run_ids AS uuid[])) AND s.status = 'queued' AND r.status = 'paused'
  ORDER BY s.run_id, s.position FOR UPDATE OF s
))
""")


def unqueue_paused(conn: Connection, run_id: str | None = None) -> None:
    """queued -> ready for steps of paused runs (of one, or of all): their messages die by the token."""
    paused = list(conn.execute(_PAUSED, {"run_id": run_id}).scalars())
    if paused:
        conn.execute(_UNQUEUE, {"run_ids": paused})


_PROMOTE = text("""
UPDATE workflow_run_steps SET status = 'ready', next_attempt_at = NULL
WHERE id = ANY(ARRAY(
  SELECT id FROM workflow_run_steps
  WHERE status = 'ready' AND next_attempt_at <= orchestrator_now()
  ORDER BY next_attempt_at LIMIT :limit FOR UPDATE SKIP LOCKED
))
RETURNING queue
""")


def promote_due_retries(conn: Connection, limit: int) -> set[str]:
    """ready and waiting for its time -> ready for dispatch; the queues concerned."""
    return set(conn.execute(_PROMOTE, {"limit": limit}).scalars())


_REOPEN = text("""
UPDATE workflow_run_steps s SET status = 'pending', ready_at = NULL, reason = NULL, error = NULL, output = NULL,
  progress = NULL, finished_at = NULL, cancel_requested_at = NULL,
  started_at = NULL, next_attempt_at = NULL, queued_at = NULL, attempt_base = s.attempt, lost_count = 0,
  total_deadline_at = NULL, attempt_deadline_at = NULL, wait = NULL, max_attempts = c.max_attempts,
  reused_step_id = NULL
FROM unnest(CAST(:positions AS int[]), CAST(:max_attempts AS int[])) AS c (position, max_attempts)
WHERE s.run_id = :run_id AND s.position = c.position AND s.position = ANY(CAST(:positions AS int[]))
""")


def reopen_steps(conn: Connection, run_id: str, steps: Mapping[int, int | None]) -> None:
    """A terminal state -> pending, for an operator's retry, and for handlers of a run that ends again.

    `steps` maps position to the `max_attempts` it has anew.
    """
    values = {"positions": list(steps), "max_attempts": list(steps.values())}
    conn.execute(_REOPEN, values | {"run_id": run_id})
