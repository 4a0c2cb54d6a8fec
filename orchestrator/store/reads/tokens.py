"""Tokens by name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.errors import NotFound
from orchestrator.store.reads.page import Page, iso, pack_cursor, page_of, unpack_cursor
from orchestrator.store.workflows import name_key

_SELECT = """
SELECT t.id, t.name, t.name_key, t.role, a.name AS app, t.password_hash IS NOT NULL AS password, t.created_at,
  t.created_by, t.expires_at, t.last_used_at, t.revoked_at,
  CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN t.expires_at <= orchestrator_now() THEN 'expired'
    ELSE 'active' END AS status
FROM api_tokens t LEFT JOIN apps a ON a.id = t.app_id
"""
_LIST = f"""{_SELECT}
WHERE (t.name_key, CAST(t.id AS text)) > (:key, :id) {{more}} ORDER BY t.name_key, CAST(t.id AS text) LIMIT :limit
"""
_KEPT = "AND t.revoked_at IS NULL"
_OF_APP = "AND a.name_key = :app"


def list_tokens(
    conn: Connection, after: str | None = None, limit: int = 100, *, revoked: bool = False, app: str | None = None
) -> Page:
    """A page of tokens by name, of one app or all; with `revoked` those too that were revoked."""
    key, id = unpack_cursor(after, 2) if after is not None else ("", "")
    values: dict[str, Any] = {"key": key, "id": id, "limit": limit + 1}
    more = "" if revoked else _KEPT
    if app is not None:
        more, values["app"] = f"{more} {_OF_APP}", name_key(app)
    rows = conn.execute(text(_LIST.format(more=more)), values).all()
    return page_of(rows, limit, _shape, lambda row: pack_cursor(row.name_key, str(row.id)))


_ONE = text(f"{_SELECT} WHERE t.name_key = :key AND t.revoked_at IS NULL")


def get_token(conn: Connection, name: str) -> dict[str, Any]:
    """The token of this name that is not revoked; raises `NotFound`."""
    row = conn.execute(_ONE, {"key": name_key(name)}).first()
    if row is None:
        raise NotFound(f"there is no token '{name}'")
    return _shape(row)


def _shape(row: Row[Any]) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "name": row.name,
        "role": row.role,
        "app": row.app,
        "status": row.status,
        "password": row.password,
        "created_at": iso(row.created_at),
        "created_by": row.created_by,
        "expires_at": iso(row.expires_at),
        "last_used_at": iso(row.last_used_at),
        "revoked_at": iso(row.revoked_at),
    }
