"""A few numbers about now, each counted to a bound."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, text

from orchestrator.store.workflows import find_app

MOST_COUNTED = 10_000
_NOW = text(
    f"""
SELECT
  (SELECT json_object_agg(status, runs) FROM (SELECT status, count(*) AS runs FROM (
    SELECT status FROM workflow_runs WHERE status IN ('canceling', 'paused', 'pending', 'running')
      AND (CAST(:app_id AS uuid) IS NULL OR app_id = :app_id) LIMIT {MOST_COUNTED}) o GROUP BY status) c) AS open,
  (SELECT count(*) FROM (SELECT 1 FROM workflow_run_steps WHERE status = 'waiting' AND wait ->> 'for' = 'approval'
    AND (CAST(:app_id AS uuid) IS NULL OR app_id = :app_id) LIMIT {MOST_COUNTED}) a) AS approvals,
  (SELECT count(*) FROM workers WHERE kind = 'worker' AND {{heard}}) AS workers,
  (SELECT count(*) FROM workers WHERE kind = 'beat' AND {{heard}}) AS beats,
  EXISTS (SELECT 1 FROM workflow_runs) AS ever
""".format(heard="stopped_at IS NULL AND seen_at > orchestrator_now() - make_interval(secs => :silent_after)")
)


def numbers_now(conn: Connection, *, app: str | None = None, silent_after: float = 30.0) -> dict[str, Any]:
    """`open`: runs by status; `approvals` that wait; `workers` and `beats` alive; `ever`: whether there is any run."""
    app_id = str(find_app(conn, app).id) if app is not None else None
    row = conn.execute(_NOW, {"app_id": app_id, "silent_after": silent_after}).one()
    return dict(row._mapping) | {"open": row.open or {}}
