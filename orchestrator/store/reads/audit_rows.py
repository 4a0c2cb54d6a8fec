"""The audit log as a page shows it: by who, act, target and time, and for those who see one app only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import iso, number_cursor
from orchestrator.store.workflows import find_app

# So many entries are gone through for one page of those that belong to an app.
LOOKED_AT = 5_000
_SLACK = 1_000  # entries: their numbers and times are given by transactions side by side


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """All given ones must hold. `actor` is whole: `web:ana`. `kinds`: of targets."""

    actor: str | None = None
    action: str | None = None
    target: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    bulk_id: str | None = None
    kinds: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """`next` is the cursor to what is older; there may be one when `items` is empty: more was to be gone through."""

    items: Sequence[dict[str, Any]]
    next: str | None = None


_CONDITIONS = {
    "actor": "actor = :actor",
    "action": "action = :action",
    "target": "target_id = :target",
    "kinds": "target_kind = ANY(CAST(:kinds AS text[]))",
    "bulk_id": "bulk_id = CAST(:bulk_id AS uuid)",
    "since": "at >= :since",
    "until": "at < :until",
    "before": "id < :before",
    "lowest": "id >= :lowest",
    "highest": "id <= :highest",
}
_OF_APP = """
(target_kind = 'run' AND EXISTS (SELECT 1 FROM workflow_runs r WHERE r.app_id = CAST(:app_id AS uuid)
  AND r.id = CASE WHEN target_kind = 'run' THEN CAST(target_id AS uuid) END))
OR (target_kind = 'app' AND lower(target_id) = lower(:app))
OR (target_kind IN ('workflow', 'pack') AND data ->> 'owner' = 'app ' || :app)
OR (target_kind = 'schedule' AND data ->> 'app' = :app)
"""
_LIST = """
SELECT * FROM (SELECT id, at, actor, action, target_kind, target_id, reason, data, bulk_id FROM audit_log
  WHERE {where} ORDER BY id DESC LIMIT :most) l ORDER BY id DESC
"""
_SEEN = """
SELECT l.*, ({of_app}) AS seen FROM ({list}) l ORDER BY id DESC
"""
# The nearest entry to a moment, by the index of times.
_NEAR = text("SELECT id FROM audit_log WHERE at < :at ORDER BY at DESC LIMIT 1")


def list_audit_rows(
    conn: Connection, filters: AuditFilters, *, app: str | None = None, after: str | None = None, limit: int = 50
) -> AuditPage:
    """A page of acts, newest first; with `app` those on it and its runs, schedules, own workflows and packs."""
    where, values = _where(conn, filters, number_cursor(after))
    if app is None:
        rows = conn.execute(text(_LIST.format(where=where)), values | {"most": limit + 1}).all()
        return _page(rows[:limit], len(rows) > limit)
    found = find_app(conn, app)
    statement = _SEEN.format(of_app=_OF_APP, list=_LIST.format(where=where))
    values |= {"most": LOOKED_AT, "app_id": found.id, "app": found.name}
    rows = conn.execute(text(statement), values).all()
    seen = [row for row in rows if row.seen]
    if len(seen) > limit:
        return _page(seen[:limit], True)
    return AuditPage([_shape(row) for row in seen], str(rows[-1].id) if len(rows) == LOOKED_AT else None)


def _page(rows: Sequence[Row[Any]], more: bool) -> AuditPage:
    return AuditPage([_shape(row) for row in rows], str(rows[-1].id) if more else None)


def _where(conn: Connection, filters: AuditFilters, before: int | None) -> tuple[str, dict[str, Any]]:
    values = {
        "actor": filters.actor,
        "action": filters.action,
        "target": filters.target,
        "bulk_id": filters.bulk_id,
        "kinds": list(filters.kinds) if filters.kinds is not None else None,
        "since": filters.since,
        "until": filters.until,
        "before": before,
        "lowest": _near(conn, filters.since, -_SLACK),
        "highest": _near(conn, filters.until, _SLACK),
    }
    given = {name: value for name, value in values.items() if value is not None}
    return " AND ".join(_CONDITIONS[name] for name in given) or "true", given


def _near(conn: Connection, at: datetime | None, slack: int) -> int | None:
    """A bound on ids, so that not all that is newer is read."""
    if at is None:
        return None
    found = conn.execute(_NEAR, {"at": at}).scalar()
    return (0 if found is None else int(found)) + slack


_ACTIONS = text("""
WITH RECURSIVE acts (action) AS (
  (SELECT action FROM audit_log ORDER BY action LIMIT 1)
  UNION ALL
  SELECT (SELECT l.action FROM audit_log l WHERE l.action > a.action ORDER BY l.action LIMIT 1)
  FROM acts a WHERE a.action IS NOT NULL
)
SELECT action FROM acts WHERE action IS NOT NULL
""")


def list_actions(conn: Connection) -> list[str]:
    """The names of the acts that occur, by the index on them."""
    return list(conn.execute(_ACTIONS).scalars())


def _shape(row: Row[Any]) -> dict[str, Any]:
    return {
        "id": row.id,
        "at": iso(row.at),
        "actor": row.actor,
        "action": row.action,
        "target_kind": row.target_kind,
        "target": row.target_id,
        "reason": row.reason,
        "data": row.data,
        "bulk_id": str(row.bulk_id) if row.bulk_id else None,
    }
