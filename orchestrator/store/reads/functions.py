"""The functions workers have announced, and which workflows call them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.store.reads.page import Page, iso, pack_cursor, page_of, unpack_cursor
from orchestrator.store.workflows import find_app

_COLUMNS = "SELECT name, module, queue, description, input_schema, seen_at FROM functions"
_LIST = text(f"{_COLUMNS} ORDER BY name")
_PAGE = text(f"{_COLUMNS} WHERE name > :after ORDER BY name LIMIT :limit")
_ONE = text(f"{_COLUMNS} WHERE name = :name")
# Of what is registered now: the latest revision of workflows that are there.
_USED_BY = """
SELECT w.id, w.name, w.name_key, CASE WHEN w.app_id IS NULL THEN 'group' ELSE 'app' END AS owner_kind,
  coalesce(a.name, g.name) AS owner, w.latest_revision, array_agg(l.step ORDER BY l.step) AS steps
FROM workflow_function_link l JOIN workflows w ON w.id = l.workflow_id AND w.deleted_at IS NULL
LEFT JOIN apps a ON a.id = w.app_id LEFT JOIN groups g ON g.id = w.group_id
WHERE l.function = :function AND l.latest AND (w.name_key, CAST(w.id AS text)) > (:key, :id) {of_app}
GROUP BY w.id, a.name, g.name ORDER BY w.name_key, CAST(w.id AS text) LIMIT :limit
"""
_OF_APP = "AND (w.app_id = :app_id OR w.group_id = (SELECT group_id FROM apps WHERE id = :app_id))"


def list_functions(conn: Connection) -> list[dict[str, Any]]:
    """Every function, by name; `seen_at` is when a worker last announced it."""
    return [_shape(row) for row in conn.execute(_LIST)]


def page_functions(conn: Connection, after: str | None = None, limit: int = 100) -> Page:
    """A page of functions by name."""
    (last,) = unpack_cursor(after, 1) if after is not None else ("",)
    rows = conn.execute(_PAGE, {"after": last, "limit": limit + 1}).all()
    return page_of(rows, limit, _shape, lambda row: pack_cursor(row.name))


def get_function(conn: Connection, name: str) -> dict[str, Any]:
    """One function; raises `NotFound` naming a near one."""
    row = conn.execute(_ONE, {"name": name}).first()
    if row is None:
        known = conn.execute(text("SELECT name FROM functions ORDER BY name")).scalars().all()
        raise NotFound(f"no worker has announced a function '{name}'{did_you_mean(name, known)}")
    return _shape(row)


def page_users(
    conn: Connection, function: str, after: str | None = None, limit: int = 100, *, app: str | None = None
) -> Page:
    """A page of the workflows whose latest revision calls the function, by name, each with its steps that do.

    All of them, or those that one app sees; raises `NotFound` for the app.
    """
    key, id = unpack_cursor(after, 2) if after is not None else ("", "")
    values: dict[str, Any] = {"function": function, "key": key, "id": id, "limit": limit + 1}
    if app is not None:
        values["app_id"] = find_app(conn, app).id
    rows = conn.execute(text(_USED_BY.format(of_app=_OF_APP if app is not None else "")), values).all()
    return page_of(rows, limit, _user, lambda row: pack_cursor(row.name_key, str(row.id)))


def _shape(row: Row[Any]) -> dict[str, Any]:
    return dict(row._mapping) | {"seen_at": iso(row.seen_at)}


def _user(row: Row[Any]) -> dict[str, Any]:
    return {
        "workflow": row.name,
        "owner": {"kind": row.owner_kind, "name": row.owner},
        "revision": row.latest_revision,
        "steps": list(row.steps),
    }
