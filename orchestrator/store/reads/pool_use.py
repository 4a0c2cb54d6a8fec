"""The steps that hold slots of a pool, and those that wait for one."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import iso
from orchestrator.store.tables import HOLDS_SLOTS, WAITS_FOR_SLOTS

_SHAPE = """
SELECT s.run_id, s.name AS step, s.item_index AS item, s.status, s.slots, s.worker_id, s.priority, s.{since} AS since,
  w.name AS workflow, a.name AS app
FROM (SELECT *, coalesce(started_at, queued_at) AS held_since FROM workflow_run_steps
  WHERE pool = :name AND {which} ORDER BY {order} LIMIT :limit) s
JOIN workflow_runs r ON r.id = s.run_id JOIN workflows w ON w.id = r.workflow_id JOIN apps a ON a.id = r.app_id
ORDER BY {outer}
"""
_HOLDERS = text(
    _SHAPE.format(
        since="held_since", which=HOLDS_SLOTS, order="coalesce(started_at, queued_at), id", outer="s.held_since, s.id"
    )
)
_WAITERS = text(
    _SHAPE.format(
        since="ready_at",
        which=WAITS_FOR_SLOTS,
        order="priority DESC, app_id, ready_at, id",
        outer="s.priority DESC, s.app_id, s.ready_at, s.id",
    )
)


def list_holders(conn: Connection, pool: str, limit: int = 100) -> list[dict[str, Any]]:
    """The steps that hold slots, longest first; there are no more of them than slots."""
    return [_shape(row) for row in conn.execute(_HOLDERS, {"name": pool, "limit": limit})]


def list_waiters(conn: Connection, pool: str, limit: int = 100) -> list[dict[str, Any]]:
    """The first steps that wait for slots, by priority, app by app."""
    return [_shape(row) for row in conn.execute(_WAITERS, {"name": pool, "limit": limit})]


def _shape(row: Row[Any]) -> dict[str, Any]:
    return dict(row._mapping) | {"run_id": str(row.run_id), "since": iso(row.since)}
