"""Moves of many items at once, and of the steps they belong to; what moves one item is in transition.py.

The step's row, then the items', are locked by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, text

from orchestrator.domain.states import Reason
from orchestrator.store.item_rows import span
from orchestrator.store.transition import ATTEMPT, BEGAN_TO_WAIT

_CANCEL_OPEN = text(f"""
WITH moved AS (
  UPDATE workflow_run_steps SET status = 'canceled', reason = :reason, finished_at = orchestrator_now(),
    claim_token = NULL, next_attempt_at = NULL, attempt_deadline_at = NULL, wake_at = NULL
  WHERE run_id = :run_id AND position >= :lowest AND position <= :highest AND status = ANY(:statuses)
    AND NOT (:spare AND {BEGAN_TO_WAIT}) AND (:children OR status <> 'waiting' OR wait ->> 'for' <> 'child')
  RETURNING item_of
)
SELECT DISTINCT item_of FROM moved
""")


def cancel_unstarted(
    conn: Connection, run_id: str, reason: Reason, first: int | None = None, *, waiting: bool, children: bool
) -> list[int]:
    """pending, ready, queued and waiting -> canceled; the positions of the steps concerned.

    The items of one step (given its first one's position), or of all. `waiting`, `children` as for steps
    (transition.py).
    """
    statuses = ["pending", "ready", "queued", "waiting"]
    values = {"run_id": run_id, "reason": reason.value, "statuses": statuses, **span(first)}
    values |= {"spare": not waiting, "children": children}
    return list(conn.execute(_CANCEL_OPEN, values).scalars())


_CANCEL_RUNNING = text(f"""
WITH was AS (
  SELECT id, worker_id AS was_worker FROM workflow_run_steps
  WHERE run_id = :run_id AND position >= :lowest AND position <= :highest AND status = 'running'
), moved AS (
  UPDATE workflow_run_steps s SET status = 'canceled', reason = :reason, error = CAST(:error AS json),
    finished_at = orchestrator_now(), claim_token = NULL, lease_expires_at = NULL, attempt_deadline_at = NULL
  FROM was WHERE s.id = was.id
  RETURNING s.id, s.attempt, was.was_worker, s.started_at, s.next_attempt_at
), {ATTEMPT}
SELECT count(*) FROM moved
""")


def cancel_running(conn: Connection, run_id: str, reason: Reason, first: int | None = None) -> None:
    """running -> canceled at once: the attempts are fenced off, whatever they still do is dropped."""
    values = {"run_id": run_id, "reason": reason.value, "outcome": "canceled", "error": None, **span(first)}
    conn.execute(_CANCEL_RUNNING, values)


_CANCEL_OWNERS = text("""
UPDATE workflow_run_steps SET status = 'canceled', reason = :reason, finished_at = orchestrator_now(),
  claim_token = NULL, next_attempt_at = NULL, total_deadline_at = NULL, attempt_deadline_at = NULL, wake_at = NULL
WHERE run_id = :run_id AND position = ANY(:owners) AND status IN ('ready', 'queued', 'waiting')
RETURNING position
""")
_ASK = text("""
UPDATE workflow_run_steps SET cancel_requested_at = coalesce(cancel_requested_at, orchestrator_now())
WHERE run_id = :run_id AND position = ANY(:owners) AND status = 'running'
""")


def cancel_owners(conn: Connection, run_id: str, owners: Sequence[int], reason: Reason) -> list[int]:
    """ready, queued and waiting -> canceled for steps that can no longer have all their items; their positions.

    Those that are being expanded at this moment are asked to end.
    """
    values = {"run_id": run_id, "owners": list(owners), "reason": reason.value}
    conn.execute(_ASK, values)
    return sorted(conn.execute(_CANCEL_OWNERS, values).scalars())


_REOPEN = text("""
UPDATE workflow_run_steps SET status = 'pending', ready_at = NULL, reason = NULL, error = NULL, output = NULL,
  progress = NULL, finished_at = NULL, cancel_requested_at = NULL, started_at = NULL, next_attempt_at = NULL,
  queued_at = NULL, attempt_base = attempt, lost_count = 0, attempt_deadline_at = NULL, wait = NULL,
  max_attempts = :most
WHERE run_id = :run_id AND position >= :lowest AND position <= :highest AND status IN ('failed', 'canceled')
""")
_BEGIN_ANEW = text("""
UPDATE workflow_run_steps SET items_free = :free, items_next = items_first
WHERE run_id = :run_id AND position = :owner
""")


def reopen_items(
    conn: Connection, run_id: str, owner: int, first: int, free: int | None, max_attempts: int | None
) -> int:
    """failed or canceled -> pending for the items of one step, which is opened again too; how many.

    They begin once the step does, `free` at a time.
    """
    opened = conn.execute(_REOPEN, {"run_id": run_id, "most": max_attempts, **span(first)}).rowcount
    conn.execute(_BEGIN_ANEW, {"run_id": run_id, "owner": owner, "free": free})
    return opened


_ASK_BEGUN = text("""
UPDATE workflow_run_steps SET cancel_requested_at = coalesce(cancel_requested_at, orchestrator_now())
WHERE run_id = :run_id AND position = :position
  AND (status = 'running' OR wait ->> 'for' = 'child' AND status IN ('ready', 'queued', 'waiting'))
""")
_CANCEL_BEGUN = text("""
UPDATE workflow_run_steps SET status = 'canceled', reason = :reason, finished_at = orchestrator_now(),
  claim_token = NULL, next_attempt_at = NULL, total_deadline_at = NULL, attempt_deadline_at = NULL, wake_at = NULL
WHERE run_id = :run_id AND position = :position AND status IN ('pending', 'ready', 'queued', 'waiting')
  AND wait ->> 'for' IS DISTINCT FROM 'child'
RETURNING id
""")


def cancel_begun(conn: Connection, run_id: str, position: int) -> bool:
    """pending, ready, queued or waiting -> canceled for one step that a function has begun; whether it was.

    One that runs or has a child is asked to end.
    """
    values = {"run_id": run_id, "position": position, "reason": Reason.CANCELED.value}
    if conn.execute(_CANCEL_BEGUN, values).first() is not None:
        return True
    conn.execute(_ASK_BEGUN, values)
    return False
