"""Approvals that wait for people."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import Page, id_cursor, iso, page_of
from orchestrator.store.reads.secrets import load_secrets
from orchestrator.store.workflows import name_key

# By the index over what steps wait for: the others that wait, however many, are not read.
_OPEN = text("""
SELECT s.id, s.run_id, s.name AS step, s.item_index AS item, s.started_at, s.wait, w.name AS workflow, a.name AS app
FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id JOIN workflows w ON w.id = r.workflow_id
JOIN apps a ON a.id = r.app_id
WHERE s.status = 'waiting' AND s.wait ->> 'for' = 'approval' AND s.id > CAST(coalesce(:after,
  '00000000-0000-0000-0000-000000000000') AS uuid) AND (CAST(:app AS text) IS NULL OR a.name_key = :app)
ORDER BY s.id LIMIT :limit
""")


def list_approvals(conn: Connection, app: str | None = None, after: str | None = None, limit: int = 100) -> Page:
    """A page of approvals nobody has decided, oldest first."""
    rows = conn.execute(
        _OPEN, {"app": None if app is None else name_key(app), "after": id_cursor(after), "limit": limit + 1}
    ).all()
    return page_of(rows, limit, lambda row: _shape(conn, row), lambda row: str(row.id))


def _shape(conn: Connection, row: Row[Any]) -> dict[str, Any]:
    secrets = load_secrets(conn, row.run_id)
    asked = secrets.show({key: row.wait[key] for key in ("title", "description", "fields", "assignees", "until")})
    return {
        "run_id": row.run_id,
        "step": row.step,
        "item": row.item,
        "workflow": row.workflow,
        "app": row.app,
        "since": iso(row.started_at),
        **asked,
    }
