"""Workflows by name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import Page, iso, pack_cursor, page_of, unpack_cursor
from orchestrator.store.workflows import find_app

SHAPE = """
SELECT w.id, w.name, w.name_key, CASE WHEN w.app_id IS NULL THEN 'group' ELSE 'app' END AS owner_kind,
  coalesce(a.name, g.name) AS owner, w.latest_revision, w.created_at, v.created_at AS changed_at, v.version,
  v.document ->> 'label' AS label, v.document ->> 'description' AS description, v.document -> 'tags' AS tags,
  v.document #>> '{{steps,0,code}}' AS code,
  p.name AS pack{more}
FROM workflows w LEFT JOIN packs p ON p.id = w.pack_id
LEFT JOIN apps a ON a.id = w.app_id LEFT JOIN groups g ON g.id = w.group_id
LEFT JOIN workflow_revisions v ON v.workflow_id = w.id AND v.number = w.latest_revision
"""
_LIST = f"""
{SHAPE}
WHERE (w.name_key, CAST(w.id AS text)) > (:key, :id) AND w.deleted_at IS NULL {{of_app}}
ORDER BY w.name_key, CAST(w.id AS text) LIMIT :limit
"""
_OF_APP = "AND (w.app_id = :app_id OR w.group_id = (SELECT group_id FROM apps WHERE id = :app_id))"


def list_workflows(conn: Connection, after: str | None = None, limit: int = 100, *, app: str | None = None) -> Page:
    """A page of workflows by name: all, or what one app sees (its own and its group's); raises `NotFound`."""
    key, id = unpack_cursor(after, 2) if after is not None else ("", "")
    values: dict[str, Any] = {"key": key, "id": id, "limit": limit + 1}
    if app is not None:
        values["app_id"] = find_app(conn, app).id
    rows = conn.execute(text(_LIST.format(of_app=_OF_APP if app is not None else "", more="")), values).all()
    return page_of(rows, limit, shape_workflow, lambda row: pack_cursor(row.name_key, str(row.id)))


def shape_workflow(row: Row[Any]) -> dict[str, Any]:
    """What a list shows of a workflow."""
    return {
        "id": str(row.id),
        "name": row.name,
        "owner": {"kind": row.owner_kind, "name": row.owner},
        "pack": row.pack,
        "revision": row.latest_revision,
        "version": row.version,
        "label": row.label,
        "description": row.description,
        "tags": row.tags or [],
        "code": row.code,
        "created_at": iso(row.created_at),
        "changed_at": iso(row.changed_at),
    }
