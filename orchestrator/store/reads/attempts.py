"""The attempts of a step, or of an item, that have ended."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, text

from orchestrator.store.reads.items import item_id
from orchestrator.store.reads.page import iso
from orchestrator.store.reads.secrets import load_secrets
from orchestrator.store.reads.steps import step_id

_LIST = text("""
SELECT t.number, t.outcome, t.error, coalesce(w.host || ':' || w.pid, t.worker_id) AS worker, t.started_at,
  t.finished_at, t.retry_at
FROM workflow_step_attempts t LEFT JOIN workers w ON w.id = t.worker_id
WHERE t.step_id = coalesce((SELECT reused_step_id FROM workflow_run_steps WHERE id = :id), CAST(:id AS uuid))
ORDER BY t.number
""")
# Those of a step in a function's own process; when a try began is not written down.
_TRIES = text("""
SELECT CASE WHEN j.part = 0 THEN count(*) OVER () ELSE j.part - 1 END AS number,
  CASE WHEN j.part = 0 THEN j.status ELSE 'failed' END AS outcome, j.error, NULL AS worker,
  CAST(NULL AS timestamptz) AS started_at, j.at AS finished_at, j.due_at AS retry_at
FROM workflow_journal j WHERE j.run_id = :run_id AND j.key = :key AND j.verb = 'step' AND j.part <> 1 ORDER BY j.at
""")


def list_attempts(conn: Connection, run_id: str, step: str, item: int | None = None) -> list[dict[str, Any]]:
    """Each ended attempt of the step named `step`, or of one `item` of it (by index), first one first.

    Raises `NotFound`. An attempt under way is not among them: the step itself tells its number, worker and start.
    Those of a step that a rerun has kept are the earlier run's.
    """
    id = step_id(conn, run_id, step) if item is None else item_id(conn, run_id, step, item)
    rows = conn.execute(_LIST, {"id": id}).all() if id else conn.execute(_TRIES, {"run_id": run_id, "key": step}).all()
    secrets = load_secrets(conn, run_id)
    return [
        {
            "number": row.number,
            "outcome": row.outcome,
            "error": secrets.show(row.error),
            "worker": row.worker,
            "started_at": iso(row.started_at),
            "finished_at": iso(row.finished_at),
            "retry_at": iso(row.retry_at),
        }
        for row in rows
    ]
