"""What stands at the head of a run's page, beyond `run_now`: at a cost that does not grow with its input and output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.errors import unknown_run
from orchestrator.store.reads.hindrance import who_did


@dataclass(frozen=True, slots=True)
class RunHead:
    """What is around the run.

    `above`: the runs it is below, the topmost first, each with `id`, `workflow`, `app`, `step`, its step that started
    the next, and `item`, the item of it. `before`: the run of the same workflow and app that was started before it, if
    it is near. `schedule`: `id`, `name` and `fire_at` of the one that has started it.
    """

    tags: list[str]
    started_by: str | None
    rerun_of: str | None
    above: list[dict[str, Any]]
    before: str | None
    schedule: dict[str, Any] | None = None


_RUN = text("""
SELECT tags, rerun_of_id, workflow_id, app_id FROM workflow_runs WHERE id = :id
""")
# In the order of the index of a workflow's runs, which the planner would else leave for that of all runs.
_BEFORE = text("""
SELECT b.id FROM (SELECT id, app_id FROM workflow_runs WHERE workflow_id = :workflow_id AND id < :id
  ORDER BY workflow_id DESC, id DESC LIMIT 100) b WHERE b.app_id = :app_id ORDER BY b.id DESC LIMIT 1
""")
_ABOVE = text("""
WITH RECURSIVE above AS (
  SELECT r.parent_run_id AS id, r.parent_step_id AS step_id, 1 AS level FROM workflow_runs r WHERE r.id = :id
  UNION ALL
  SELECT r.parent_run_id, r.parent_step_id, a.level + 1 FROM above a JOIN workflow_runs r ON r.id = a.id
  WHERE a.level < 100
)
SELECT r.id, w.name AS workflow, p.name AS app, s.name AS step, s.item_index AS item
FROM above a JOIN workflow_runs r ON r.id = a.id JOIN workflows w ON w.id = r.workflow_id
JOIN apps p ON p.id = r.app_id LEFT JOIN workflow_run_steps s ON s.id = a.step_id
ORDER BY a.level DESC
""")


_FIRED_BY = text("""
SELECT s.id, s.name, f.fire_at FROM schedule_fires f JOIN schedules s ON s.id = f.schedule_id WHERE f.run_id = :id
""")


def run_head(conn: Connection, run_id: str) -> RunHead:
    """Raises `NotFound`."""
    row = conn.execute(_RUN, {"id": run_id}).first()
    if row is None:
        raise unknown_run(run_id)
    before = conn.execute(_BEFORE, {"id": run_id, "workflow_id": row.workflow_id, "app_id": row.app_id}).scalar()
    above = [{**above._mapping} | {"id": str(above.id)} for above in conn.execute(_ABOVE, {"id": run_id})]
    fired = conn.execute(_FIRED_BY, {"id": run_id}).first()
    return RunHead(
        list(row.tags),
        who_did(conn, run_id, "run.started"),
        str(row.rerun_of_id) if row.rerun_of_id else None,
        above,
        str(before) if before else None,
        None if fired is None else {**fired._mapping},
    )
