"""Tokens by name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import Page, iso, pack_cursor, page_of, unpack_cursor
from orchestrator.store.workflows import name_key

_LIST = """
SELECT t.id, t.name, t.name_key, t.role, a.name AS app, t.password_hash IS NOT NULL AS password, t.created_at,
  t.created_by, t.expires_at, t.last_used_at, t.revoked_at,
  CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN t.expires_at <= orchestrator_now() THEN 'expired'
    ELSE 'active' END AS status
FROM api_tokens t LEFT JOIN apps a ON a.id = t.app_id
WHERE (t.name_key, CAST(t.id AS text)) > (:key, :id) {revoked}
  AND (CAST(:app AS text) IS NULL OR a.name_key = :app)
ORDER BY t.name_key, CAST(t.id AS text) LIMIT :limit
"""
_ALL = text(_LIST.format(revoked=""))
_KEPT = text(_LIST.format(revoked="AND t.revoked_at IS NULL"))


def list_tokens(
    conn: Connection, after: str | None = None, limit: int = 100, *, revoked: bool = False, app: str | None = None
) -> Page:
    """A page of tokens by name, of all apps or of one; with `revoked` those too that were revoked."""
    key, id = unpack_cursor(after, 2) if after is not None else ("", "")
    values = {"key": key, "id": id, "limit": limit + 1, "app": name_key(app) if app is not None else None}
    rows = conn.execute(_ALL if revoked else _KEPT, values).all()
    return page_of(rows, limit, _shape, lambda row: pack_cursor(row.name_key, str(row.id)))


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
