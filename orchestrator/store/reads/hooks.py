"""Webhooks by name, without their secrets."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.ids import is_id
from orchestrator.store.reads.page import Page, iso, pack_cursor, page_of, unpack_cursor
from orchestrator.store.workflows import name_key

_SHOWN = """
SELECT h.id, h.name, h.name_key, a.name AS app, h.workflow, h.event, h.run, h.scheme, h.input, h.idempotency_key,
  h.enabled, h.created_at, h.created_by, h.last_called_at
FROM hooks h JOIN apps a ON a.id = h.app_id WHERE (CAST(:app AS text) IS NULL OR a.name_key = :app)
"""
_LIST = text(f"""
{_SHOWN} AND (h.name_key, CAST(h.id AS text)) > (:key, :id) ORDER BY h.name_key, CAST(h.id AS text) LIMIT :limit
""")
_ONE = text(f"{_SHOWN} AND (h.name_key = :key OR h.id = CAST(:id AS uuid)) ORDER BY h.id LIMIT 1")
_NAMES = text(f"SELECT name FROM ({_SHOWN}) shown ORDER BY name_key")


def list_hooks(conn: Connection, after: str | None = None, limit: int = 100, *, app: str | None = None) -> Page:
    """A page of hooks by name, of all apps or of one."""
    key, id = unpack_cursor(after, 2) if after is not None else ("", "")
    rows = conn.execute(_LIST, _of(app) | {"key": key, "id": id, "limit": limit + 1}).all()
    return page_of(rows, limit, _shape, lambda row: pack_cursor(row.name_key, str(row.id)))


def get_hook(conn: Connection, which: str, *, app: str | None = None) -> dict[str, Any]:
    """The hook of this name or id; raises `NotFound` naming a near one."""
    row = conn.execute(_ONE, _of(app) | {"key": name_key(which), "id": which if is_id(which) else None}).first()
    if row is None:
        names = conn.execute(_NAMES, _of(app)).scalars().all()
        raise NotFound(f"there is no hook '{which}'{did_you_mean(which, names)}")
    return _shape(row)


def _of(app: str | None) -> dict[str, Any]:
    return {"app": name_key(app) if app is not None else None}


def _shape(row: Row[Any]) -> dict[str, Any]:
    shown = {name: value for name, value in row._mapping.items() if name != "name_key"}
    return shown | {"created_at": iso(row.created_at), "last_called_at": iso(row.last_called_at)}
