"""What workers are at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.store.reads.page import iso

_EACH = 8
# One probe of the index of running steps a worker.
_RUNNING = text("""
SELECT w.id AS worker, s.run_id, s.position, s.name AS step, s.item_index AS item, s.function, s.started_at,
  s.lease_expires_at < orchestrator_now() AS lost, f.name AS workflow, a.name AS app
FROM unnest(CAST(:workers AS text[])) AS w (id), LATERAL (
  SELECT * FROM workflow_run_steps WHERE status = 'running' AND worker_id = w.id ORDER BY started_at, id LIMIT :each) s
JOIN workflow_runs r ON r.id = s.run_id JOIN workflows f ON f.id = r.workflow_id JOIN apps a ON a.id = r.app_id
ORDER BY s.started_at, s.id
""")


def running_of(conn: Connection, workers: Sequence[str], each: int = _EACH) -> dict[str, list[dict[str, Any]]]:
    """The steps that each of these workers runs, longest first, at most `each` of one."""
    found: dict[str, list[dict[str, Any]]] = {id: [] for id in workers}
    for row in conn.execute(_RUNNING, {"workers": list(workers), "each": each}):
        found[row.worker].append(dict(row._mapping) | {"run_id": str(row.run_id), "started_at": iso(row.started_at)})
    return found
