"""What people did, from the audit log."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import Page, iso, number_cursor, page_of

_LIST = """
SELECT id, at, actor, action, target_kind, target_id, reason, data FROM audit_log
WHERE (CAST(:before AS bigint) IS NULL OR id < :before) {of_target} ORDER BY id DESC LIMIT :limit
"""
_OF_ALL = text(_LIST.format(of_target=""))
_OF_ONE = text(_LIST.format(of_target="AND target_id = :target"))


def list_audit(conn: Connection, target: str | None = None, after: str | None = None, limit: int = 100) -> Page:
    """A page of acts, newest first: all, or those on one run (its id), workflow or app (its name)."""
    values: dict[str, Any] = {"before": number_cursor(after), "limit": limit + 1}
    if target is not None:
        values["target"] = target
    rows = conn.execute(_OF_ALL if target is None else _OF_ONE, values).all()
    return page_of(rows, limit, _shape, lambda row: str(row.id))


def _shape(row: Row[Any]) -> dict[str, Any]:
    return dict(row._mapping) | {"at": iso(row.at)}
