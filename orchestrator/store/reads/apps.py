"""Apps by name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, text

from orchestrator.store.workflows import find_app

_LIST = text("""
SELECT a.name, g.name AS group_name, a.config FROM apps a LEFT JOIN groups g ON g.id = a.group_id
WHERE CAST(:id AS uuid) IS NULL OR a.id = :id ORDER BY a.name_key
""")


def list_apps(conn: Connection, name: str | None = None) -> list[dict[str, Any]]:
    """Every app, or the one of this name, with its group and its configuration; raises `NotFound`."""
    rows = conn.execute(_LIST, {"id": None if name is None else find_app(conn, name).id})
    return [{"name": row.name, "group": row.group_name, "config": row.config} for row in rows]
