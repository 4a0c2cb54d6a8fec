"""Steps that a function has begun, counted on the row of the step that runs it."""

from __future__ import annotations

from sqlalchemy import Connection, text

_RECOUNT = text("""
UPDATE workflow_run_steps s SET items_stop = NULL, items_open = (
  SELECT count(*) FROM workflow_run_steps o WHERE o.run_id = :run_id AND o.position > 0 AND o.position < 1048576
    AND o.status IN ('pending', 'ready', 'queued', 'running', 'waiting'))
WHERE s.run_id = :run_id AND s.position = 0
""")


def recount(conn: Connection, run_id: str) -> None:
    """Count the open ones afresh, after many were changed; what was noted about stopping them is carried out."""
    conn.execute(_RECOUNT, {"run_id": run_id})
