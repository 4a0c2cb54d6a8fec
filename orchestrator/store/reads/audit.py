"""What people did, from the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import Page, iso, number_cursor, page_of

_LIST = """
SELECT id, at, actor, action, target_kind, target_id, reason, data, bulk_id FROM audit_log
WHERE (CAST(:before AS bigint) IS NULL OR id < :before) {of_some} ORDER BY id DESC LIMIT :limit
"""
_CONDITIONS = {
    "target": "AND target_id = :target",
    "bulk_id": "AND bulk_id = CAST(:bulk_id AS uuid)",
    "kind": "AND target_kind = :kind",
    "actor": "AND actor = :actor",
    "action": "AND action = :action",
    "since": "AND at >= :since",
    "until": "AND at < :until",
}


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """Which acts; what is None chooses nothing. `kind`: what it was done to, `run`, `workflow`, `token`, ..."""

    target: str | None = None
    bulk_id: str | None = None
    kind: str | None = None
    actor: str | None = None
    action: str | None = None
    since: datetime | None = None
    until: datetime | None = None


def list_audit(
    conn: Connection,
    target: str | None = None,
    after: str | None = None,
    limit: int = 100,
    *,
    bulk_id: str | None = None,
) -> Page:
    """A page of acts, newest first: all, those on one run (its id), workflow or app (its name), those of one bulk."""
    return page_audit(conn, AuditFilters(target=target, bulk_id=bulk_id), after, limit)


def page_audit(conn: Connection, filters: AuditFilters, after: str | None = None, limit: int = 100) -> Page:
    """A page of the acts that the filters find, newest first."""
    values: dict[str, Any] = {"before": number_cursor(after), "limit": limit + 1}
    given = {f.name: value for f in fields(filters) if (value := getattr(filters, f.name)) is not None}
    of_some = " ".join(_CONDITIONS[name] for name in given)
    rows = conn.execute(text(_LIST.format(of_some=of_some)), values | given).all()
    return page_of(rows, limit, _shape, lambda row: str(row.id))


def _shape(row: Row[Any]) -> dict[str, Any]:
    return dict(row._mapping) | {"at": iso(row.at), "bulk_id": str(row.bulk_id) if row.bulk_id else None}


_OF_BULK = text("SELECT target_id FROM audit_log WHERE bulk_id = CAST(:bulk_id AS uuid) AND target_id = ANY(:ids)")


def targets_of_bulk(conn: Connection, bulk_id: str, ids: Sequence[str]) -> set[str]:
    """Which of these the bulk has acted on already."""
    return set(conn.execute(_OF_BULK, {"bulk_id": bulk_id, "ids": list(ids)}).scalars())
