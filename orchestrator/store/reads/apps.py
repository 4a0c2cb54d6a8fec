"""Apps and groups by name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import Page, pack_cursor, page_of, unpack_cursor
from orchestrator.store.workflows import find_app, find_owner

_APPS = "SELECT a.name, a.name_key, g.name AS group_name, a.config FROM apps a LEFT JOIN groups g ON g.id = a.group_id"
_LIST = text(f"{_APPS} WHERE CAST(:id AS uuid) IS NULL OR a.id = :id ORDER BY a.name_key")
_PAGE = text(f"{_APPS} WHERE a.name_key > :after ORDER BY a.name_key LIMIT :limit")
_GROUPS = """
SELECT g.name, g.name_key, array(SELECT a.name FROM apps a WHERE a.group_id = g.id ORDER BY a.name_key) AS apps
FROM groups g
"""
_PAGE_OF_GROUPS = text(f"{_GROUPS} WHERE g.name_key > :after ORDER BY g.name_key LIMIT :limit")
_GROUP = text(f"{_GROUPS} WHERE g.id = :id")


def list_apps(conn: Connection, name: str | None = None) -> list[dict[str, Any]]:
    """Every app, or the one of this name, with its group and its configuration; raises `NotFound`."""
    rows = conn.execute(_LIST, {"id": None if name is None else find_app(conn, name).id})
    return [_app(row) for row in rows]


def page_apps(conn: Connection, after: str | None = None, limit: int = 100) -> Page:
    """A page of apps by name."""
    (last,) = unpack_cursor(after, 1) if after is not None else ("",)
    rows = conn.execute(_PAGE, {"after": last, "limit": limit + 1}).all()
    return page_of(rows, limit, _app, lambda row: pack_cursor(row.name_key))


def page_groups(conn: Connection, after: str | None = None, limit: int = 100) -> Page:
    """A page of groups by name, each with its apps."""
    (last,) = unpack_cursor(after, 1) if after is not None else ("",)
    rows = conn.execute(_PAGE_OF_GROUPS, {"after": last, "limit": limit + 1}).all()
    return page_of(rows, limit, _group, lambda row: pack_cursor(row.name_key))


def get_group(conn: Connection, name: str) -> dict[str, Any]:
    """The group of this name with its apps; raises `NotFound` naming a near one."""
    return _group(conn.execute(_GROUP, {"id": find_owner(conn, None, name).id}).one())


def _app(row: Row[Any]) -> dict[str, Any]:
    return {"name": row.name, "group": row.group_name, "config": row.config}


def _group(row: Row[Any]) -> dict[str, Any]:
    return {"name": row.name, "apps": list(row.apps)}
