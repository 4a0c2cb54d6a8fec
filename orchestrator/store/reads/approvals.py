"""Approvals that wait for people."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.event_names import approval_event
from orchestrator.store.reads.page import Page, id_cursor, iso, page_of
from orchestrator.store.reads.runs import run_app
from orchestrator.store.reads.secrets import load_secrets
from orchestrator.store.workflows import name_key

# By the index over what steps wait for: the others that wait, however many, are not read.
_SELECT = """
SELECT s.id, s.run_id, s.name AS step, s.item_index AS item, s.started_at, s.wait, w.name AS workflow, a.name AS app
FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id JOIN workflows w ON w.id = r.workflow_id
JOIN apps a ON a.id = r.app_id
"""
_OPEN = text(f"""{_SELECT}
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


_ONE = text(f"""{_SELECT}
WHERE s.run_id = :run_id AND s.name = :step AND s.item_index IS NOT DISTINCT FROM CAST(:item AS int)
  AND s.status = 'waiting' AND s.wait ->> 'for' = 'approval'
""")
_DECIDED = text("""
SELECT actor, sent_at FROM workflow_signals WHERE run_id = :run_id AND name = :event ORDER BY id LIMIT 1
""")


def get_approval(
    conn: Connection, run_id: str, step: str, item: int | None = None
) -> tuple[str, dict[str, Any] | None, dict[str, Any] | None]:
    """The run's app, the approval if it still waits, and else who has decided it and when. Raises `NotFound`."""
    app = run_app(conn, run_id)
    row = conn.execute(_ONE, {"run_id": run_id, "step": step, "item": item}).first()
    if row is not None:
        return app, _shape(conn, row), None
    told = conn.execute(_DECIDED, {"run_id": run_id, "event": approval_event(step, item)}).first()
    return app, None, {"by": told.actor, "at": iso(told.sent_at)} if told is not None else None


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
