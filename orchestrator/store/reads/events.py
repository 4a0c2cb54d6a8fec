"""The history of a run."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import Page, iso, number_cursor, page_of
from orchestrator.store.reads.secrets import RunSecrets, load_secrets

_LIST = text("""
SELECT e.id, e.kind, e.at, s.name AS step, e.data
FROM run_events e LEFT JOIN workflow_run_steps s ON s.id = e.step_id
WHERE e.run_id = :run_id AND e.id > :after ORDER BY e.id LIMIT :limit
""")


def list_events(conn: Connection, run_id: str, after: str | int | None = None, limit: int = 100) -> Page:
    """A page of the run's events, oldest first."""
    values = {"run_id": run_id, "after": number_cursor(after) or 0, "limit": limit + 1}
    rows = conn.execute(_LIST, values).all()
    secrets = load_secrets(conn, run_id)
    return page_of(rows, limit, lambda row: _shape(row, secrets), lambda row: str(row.id))


def _shape(row: Row[Any], secrets: RunSecrets) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind,
        "at": iso(row.at),
        "step": row.step,
        "data": secrets.show(row.data),
    }
