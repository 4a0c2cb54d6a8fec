"""A run with all that its steps have started, and what those have."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, text

from orchestrator.store.reads.page import iso

# Each run's children in the order they were started, and no more of them than are shown in all.
_FAMILY = text("""
WITH RECURSIVE family AS (
  SELECT r.id, ARRAY[r.id] AS path FROM workflow_runs r WHERE r.id = :id
  UNION ALL
  SELECT c.id, f.path || c.id FROM family f CROSS JOIN LATERAL (
    SELECT c.id FROM workflow_runs c WHERE c.parent_run_id = f.id ORDER BY c.id LIMIT :limit) c
)
SELECT r.id, w.name AS workflow, r.status, r.depth, r.parent_run_id, s.name AS step, s.item_index AS item, r.started_at,
  r.finished_at, cardinality(f.path) - 1 AS level
FROM family f JOIN workflow_runs r ON r.id = f.id JOIN workflow_revisions v ON v.id = r.revision_id
JOIN workflows w ON w.id = v.workflow_id LEFT JOIN workflow_run_steps s ON s.id = r.parent_step_id
ORDER BY f.path LIMIT :limit
""")


def list_family(conn: Connection, run_id: str, most: int) -> tuple[list[dict[str, Any]], bool]:
    """The run and those below it, each followed by its own, `most` of them; whether there are more.

    `level` counts from this run. Nothing for a run that is not there.
    """
    rows = conn.execute(_FAMILY, {"id": run_id, "limit": most + 1}).all()
    times = ("started_at", "finished_at")
    shown = [{**row._mapping} | {name: iso(getattr(row, name)) for name in times} for row in rows[:most]]
    return shown, len(rows) > most
