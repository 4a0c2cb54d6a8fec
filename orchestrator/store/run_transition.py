"""The only writer of run statuses: every move of a run is a named transition here (steps: transition.py)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.states import RunStatus
from orchestrator.store.transition import as_text

_MOVE_RUN = text("""
UPDATE workflow_runs SET status = :status,
  paused_at = CASE WHEN :status = 'paused' THEN orchestrator_now() END,
  pause_reason = CASE WHEN :status = 'paused' THEN :reason END, paused_with_parent = :with_parent,
  cancel_reason = CASE WHEN :status = 'canceling' THEN :reason ELSE cancel_reason END,
  final_status = CASE WHEN :status = 'canceling' THEN 'canceled' ELSE final_status END
WHERE id = :id AND status = ANY(:before)
RETURNING id
""")


def move_run(
    conn: Connection,
    run_id: str,
    status: RunStatus,
    before: set[RunStatus],
    reason: str | None = None,
    *,
    with_parent: bool = False,
) -> bool:
    """running <-> paused, or to canceling, from any of `before`; `reason` is the operator's.

    `with_parent`: paused for as long as its parent is.
    """
    values: dict[str, Any] = {"id": run_id, "status": status.value, "reason": reason, "with_parent": with_parent}
    values["before"] = [b.value for b in before]
    return conn.execute(_MOVE_RUN, values).first() is not None


_ADMIT = text("""
UPDATE workflow_runs SET status = 'running', started_at = orchestrator_now(),
  deadline_at = orchestrator_now() + make_interval(secs => CAST(:timeout AS double precision))
WHERE id = :id AND status = 'pending'
RETURNING id
""")


def admit_run(conn: Connection, run_id: str, timeout: float | None) -> bool:
    """pending -> running: its turn has come; its `timeout` seconds begin."""
    return conn.execute(_ADMIT, {"id": run_id, "timeout": timeout}).first() is not None


_DECIDE_END = text("""
UPDATE workflow_runs SET final_status = :status, error = coalesce(error, CAST(:error AS json)),
  output = coalesce(CAST(:output AS json), output)
WHERE id = :id
""")


def decide_end(
    conn: Connection, run_id: str, final: RunStatus, error: dict[str, Any] | None, output_json: str | None = None
) -> None:
    """Store what the run will end as, while handlers or running steps are still to end."""
    values = {"id": run_id, "status": final.value, "error": as_text(error), "output": output_json}
    conn.execute(_DECIDE_END, values)


_END_RUN = text("""
UPDATE workflow_runs SET status = :status, final_status = :status, finished_at = orchestrator_now(), halting = NULL
WHERE id = :id AND status IN ('running', 'canceling')
""")


def end_run(conn: Connection, run_id: str, status: RunStatus) -> None:
    """running or canceling -> succeeded, failed or canceled, as decided."""
    conn.execute(_END_RUN, {"id": run_id, "status": status.value})


_REOPEN_RUN = text("""
UPDATE workflow_runs SET status = 'running', final_status = NULL, finished_at = NULL, output = NULL, error = NULL,
  cancel_reason = NULL, handler_stage = 0, halting = NULL, started_at = coalesce(started_at, orchestrator_now()),
  deadline_at = orchestrator_now() + make_interval(secs => CAST(:timeout AS double precision))
WHERE id = :id AND status IN ('failed', 'canceled')
RETURNING id
""")


def reopen_run(conn: Connection, run_id: str, timeout: float | None) -> bool:
    """failed or canceled -> running: an operator's retry; the deadline starts anew."""
    return conn.execute(_REOPEN_RUN, {"id": run_id, "timeout": timeout}).first() is not None
