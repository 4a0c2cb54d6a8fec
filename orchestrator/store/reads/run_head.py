"""What stands at the head of a run's page, beyond `run_now`: at a cost that does not grow with its input and output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.errors import unknown_run
from orchestrator.store.reads.hindrance import who_did


@dataclass(frozen=True, slots=True)
class RunHead:
    """`above`: the runs it is below, the topmost first, each with `id`, `workflow`, `app`, and `step`, its step that
    started the next; `before`: the run of the same workflow and app that was started before it."""

    tags: list[str]
    started_by: str | None
    rerun_of: str | None
    above: list[dict[str, Any]]
    before: str | None


_RUN = text("""
SELECT r.tags, r.rerun_of_id, (SELECT b.id FROM workflow_runs b
  WHERE b.workflow_id = r.workflow_id AND b.app_id = r.app_id AND b.id < r.id ORDER BY b.id DESC LIMIT 1) AS before
FROM workflow_runs r WHERE r.id = :id
""")
_ABOVE = text("""
WITH RECURSIVE above AS (
  SELECT r.parent_run_id AS id, r.parent_step_id AS step_id, 1 AS level FROM workflow_runs r WHERE r.id = :id
  UNION ALL
  SELECT r.parent_run_id, r.parent_step_id, a.level + 1 FROM above a JOIN workflow_runs r ON r.id = a.id
  WHERE a.level < 100
)
SELECT r.id, w.name AS workflow, p.name AS app, s.name AS step FROM above a JOIN workflow_runs r ON r.id = a.id
JOIN workflows w ON w.id = r.workflow_id JOIN apps p ON p.id = r.app_id
LEFT JOIN workflow_run_steps s ON s.id = a.step_id
ORDER BY a.level DESC
""")


def run_head(conn: Connection, run_id: str) -> RunHead:
    """Raises `NotFound`."""
    row = conn.execute(_RUN, {"id": run_id}).first()
    if row is None:
        raise unknown_run(run_id)
    above = [{**above._mapping} | {"id": str(above.id)} for above in conn.execute(_ABOVE, {"id": run_id})]
    return RunHead(
        list(row.tags),
        who_did(conn, run_id, "run.started"),
        str(row.rerun_of_id) if row.rerun_of_id else None,
        above,
        str(row.before) if row.before else None,
    )
