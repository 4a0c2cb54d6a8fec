"""Packs by name, each with its workflows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.store.reads.page import Page, iso, pack_cursor, page_of, unpack_cursor
from orchestrator.store.workflows import find_app, name_key

_SHOWN = """
SELECT p.id, p.name, p.name_key,
  CASE WHEN p.app_id IS NULL THEN 'group' ELSE 'app' END AS owner_kind, coalesce(a.name, g.name) AS owner,
  p.version, p.label, p.description, p.installed_at, p.upgraded_at,
  (SELECT json_agg(json_build_object('name', w.name, 'revision', w.latest_revision) ORDER BY w.name_key)
   FROM workflows w WHERE w.pack_id = p.id) AS workflows
FROM packs p LEFT JOIN apps a ON a.id = p.app_id LEFT JOIN groups g ON g.id = p.group_id
WHERE (CAST(:app_id AS uuid) IS NULL OR p.app_id = :app_id
    OR p.group_id = (SELECT group_id FROM apps WHERE id = :app_id))
"""
_LIST = text(f"{_SHOWN} AND (CAST(:key AS text) IS NULL OR p.name_key = :key) ORDER BY p.name_key, p.app_id IS NULL")
_PAGE = text(f"""
{_SHOWN} AND (p.name_key, CAST(p.id AS text)) > (:key, :id) ORDER BY p.name_key, CAST(p.id AS text) LIMIT :limit
""")


def list_packs(conn: Connection, app: str | None = None, name: str | None = None) -> list[dict[str, Any]]:
    """Packs by name: all, or what one app sees (its own and its group's); with `name` those of that name.

    Raises `NotFound` for an unknown app, and when there is no pack of the name.
    """
    app_id = find_app(conn, app).id if app is not None else None
    key = name_key(name) if name is not None else None
    packs = [_shape(row) for row in conn.execute(_LIST, {"app_id": app_id, "key": key})]
    if name is not None and not packs:
        names = conn.execute(text("SELECT DISTINCT name FROM packs ORDER BY name")).scalars().all()
        raise NotFound(f"there is no pack '{name}'{did_you_mean(name, names)}")
    return packs


def page_packs(conn: Connection, after: str | None = None, limit: int = 100, *, app: str | None = None) -> Page:
    """A page of packs by name: all, or what one app sees; raises `NotFound` for the app."""
    key, id = unpack_cursor(after, 2) if after is not None else ("", "")
    app_id = find_app(conn, app).id if app is not None else None
    rows = conn.execute(_PAGE, {"app_id": app_id, "key": key, "id": id, "limit": limit + 1}).all()
    return page_of(rows, limit, _shape, lambda row: pack_cursor(row.name_key, str(row.id)))


def _shape(row: Row[Any]) -> dict[str, Any]:
    return {
        "name": row.name,
        "owner": {"kind": row.owner_kind, "name": row.owner},
        "version": row.version,
        "label": row.label,
        "description": row.description,
        "workflows": row.workflows or [],
        "installed_at": iso(row.installed_at),
        "upgraded_at": iso(row.upgraded_at),
    }
