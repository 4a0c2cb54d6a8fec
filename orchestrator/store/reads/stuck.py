"""What goes on no more, or too slowly: late runs, steps whose worker is gone, steps that wait longest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import iso
from orchestrator.store.workflows import find_app

_OPEN = "status IN ('canceling', 'paused', 'pending', 'running')"
_LOOKED_AT = 2_000
_OF_APP = "AND (CAST(:app_id AS uuid) IS NULL OR app_id = :app_id)"

_LATE = text(f"""
SELECT r.id, r.status, r.created_at, r.deadline_at, w.name AS workflow, a.name AS app
FROM (SELECT * FROM workflow_runs WHERE {_OPEN} AND deadline_at IS NOT NULL {_OF_APP}
  ORDER BY deadline_at LIMIT {_LOOKED_AT}) r
JOIN workflows w ON w.id = r.workflow_id JOIN apps a ON a.id = r.app_id
WHERE orchestrator_now() > r.created_at + (r.deadline_at - r.created_at) / 2 ORDER BY r.deadline_at, r.id LIMIT :limit
""")


def list_late(conn: Connection, *, app: str | None = None, limit: int = 10) -> list[dict[str, Any]]:
    """Open runs past half of the time they have, nearest to their deadline first."""
    rows = conn.execute(_LATE, {"app_id": _app_id(conn, app), "limit": limit})
    return [
        {
            "run_id": str(row.id),
            "workflow": row.workflow,
            "app": row.app,
            "status": row.status,
            "created_at": iso(row.created_at),
            "deadline_at": iso(row.deadline_at),
        }
        for row in rows
    ]


_AMONG = text(f"""
SELECT r.id, r.status, CAST(extract(epoch FROM orchestrator_now() - r.created_at) AS float8) AS age
FROM workflow_runs r WHERE r.id = ANY(CAST(:ids AS uuid[])) AND {_OPEN} ORDER BY r.id LIMIT :limit
""")


def open_among(conn: Connection, run_ids: Sequence[str], limit: int) -> list[dict[str, Any]]:
    """Those of these runs that are open, the oldest first: `run_id`, `status`, `age` in seconds."""
    rows = conn.execute(_AMONG, {"ids": list(run_ids), "limit": limit})
    return [{"run_id": str(row.id), "status": row.status, "age": row.age} for row in rows]


_STEP = """
SELECT s.run_id, s.name AS step, s.item_index AS item, s.status, s.queue, s.worker_id, s.{since} AS since,
  s.wait ->> 'event' AS event, w.name AS workflow, a.name AS app
FROM (SELECT * FROM workflow_run_steps WHERE {which} {of_app} ORDER BY {order} LIMIT {most}) s
JOIN workflow_runs r ON r.id = s.run_id JOIN workflows w ON w.id = r.workflow_id JOIN apps a ON a.id = r.app_id
"""
_LOST = text(
    _STEP.format(
        since="lease_expires_at",
        which="status = 'running' AND lease_expires_at < orchestrator_now()",
        of_app=_OF_APP,
        order="lease_expires_at",
        most=":limit",
    )
    + " ORDER BY s.lease_expires_at, s.id"
)


def list_lost(conn: Connection, *, app: str | None = None, limit: int = 10) -> list[dict[str, Any]]:
    """Steps whose worker has let their lease expire, and that nobody has taken back; `since` then."""
    return [_shape(row) for row in conn.execute(_LOST, {"app_id": _app_id(conn, app), "limit": limit})]


_WAITING = text(
    _STEP.format(
        since="started_at",
        which="status = 'waiting' AND wait ->> 'for' = 'event'",
        of_app=_OF_APP,
        order="id",
        most=_LOOKED_AT,
    )
    + " WHERE s.started_at < orchestrator_now() - make_interval(secs => :seconds) ORDER BY s.id LIMIT :limit"
)


def list_long_waits(
    conn: Connection, *, app: str | None = None, seconds: float = 3600.0, limit: int = 5
) -> list[dict[str, Any]]:
    """Steps that have waited for an event for so long, those of the oldest runs first."""
    values = {"app_id": _app_id(conn, app), "seconds": seconds, "limit": limit}
    return [_shape(row) for row in conn.execute(_WAITING, values)]


def _app_id(conn: Connection, app: str | None) -> str | None:
    return str(find_app(conn, app).id) if app is not None else None


def _shape(row: Row[Any]) -> dict[str, Any]:
    return {
        "run_id": str(row.run_id),
        "step": row.step,
        "item": row.item,
        "workflow": row.workflow,
        "app": row.app,
        "status": row.status,
        "queue": row.queue,
        "worker": row.worker_id,
        "event": row.event,
        "since": iso(row.since),
    }
