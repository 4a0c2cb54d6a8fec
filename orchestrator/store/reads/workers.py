"""Worker and beat processes, and what each runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.items import index_of, is_item
from orchestrator.errors import NotFound
from orchestrator.store.reads.page import Page, id_cursor, iso, pack_cursor, page_of, unpack_cursor
from orchestrator.store.workflows import find_app

_COLUMNS = """
SELECT w.id, w.kind, w.host, w.pid, w.queues, w.concurrency, w.pool, w.version, w.listening, w.started_at, w.seen_at,
  w.stopped_at,
  w.seen_at > orchestrator_now() - make_interval(secs => :silent_after) AS heard,
  (SELECT count(*) FROM workflow_run_steps s WHERE s.status = 'running' AND s.worker_id = w.id) AS running
FROM workers w
"""
_LIST = text(f"{_COLUMNS} ORDER BY w.stopped_at IS NOT NULL, w.kind, w.host, w.started_at, w.id")
_KEY = "(w.stopped_at IS NOT NULL)::text, w.kind, w.host, w.id"
_PAGE = text(f"{_COLUMNS} WHERE ({_KEY}) > (:stopped, :kind, :host, :id) ORDER BY {_KEY} LIMIT :limit")
_ONE = text(f"{_COLUMNS} WHERE w.id = :id")
_STEPS = """
SELECT s.id, s.run_id, s.name AS step, s.position, w.name AS workflow, a.name AS app, s.queue, s.attempt, s.started_at,
  s.lease_expires_at
FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id JOIN workflows w ON w.id = r.workflow_id
JOIN apps a ON a.id = r.app_id
WHERE s.status = 'running' AND s.worker_id = :worker AND (CAST(:after AS uuid) IS NULL OR s.id > :after) {of_app}
ORDER BY s.id LIMIT :limit
"""
_OF_APP = "AND s.app_id = :app_id"
SILENT_SECONDS = 30.0


def list_workers(conn: Connection, *, silent_after: float = SILENT_SECONDS) -> list[dict[str, Any]]:
    """Every process that announced itself and is not forgotten, with the steps it runs now.

    `status`: `alive`, `silent` (not seen for `silent_after` seconds: killed, frozen or cut off) or `stopped`.
    """
    return [_shape(row) for row in conn.execute(_LIST, {"silent_after": silent_after})]


def page_workers(
    conn: Connection, after: str | None = None, limit: int = 100, *, silent_after: float = SILENT_SECONDS
) -> Page:
    """A page of them: those that have not stopped first, by kind and host."""
    stopped, kind, host, id = unpack_cursor(after, 4) if after is not None else ("", "", "", "")
    values = {"stopped": stopped, "kind": kind, "host": host, "id": id, "limit": limit + 1}
    rows = conn.execute(_PAGE, values | {"silent_after": silent_after}).all()
    return page_of(rows, limit, _shape, _cursor)


def get_worker(conn: Connection, id: str, *, silent_after: float = SILENT_SECONDS) -> dict[str, Any]:
    """One of them; raises `NotFound`, also for one that was forgotten."""
    row = conn.execute(_ONE, {"id": id, "silent_after": silent_after}).first()
    if row is None:
        raise NotFound(f"there is no worker {id}")
    return _shape(row)


def page_running(
    conn: Connection, worker: str, after: str | None = None, limit: int = 100, *, app: str | None = None
) -> Page:
    """A page of the steps and items that a worker runs now: all, or those of one app; raises `NotFound` for it."""
    values: dict[str, Any] = {"worker": worker, "after": id_cursor(after), "limit": limit + 1}
    if app is not None:
        values["app_id"] = find_app(conn, app).id
    rows = conn.execute(text(_STEPS.format(of_app=_OF_APP if app is not None else "")), values).all()
    return page_of(rows, limit, _running, lambda row: str(row.id))


def _cursor(row: Row[Any]) -> str:
    return pack_cursor("true" if row.stopped_at else "false", row.kind, row.host, row.id)


def _running(row: Row[Any]) -> dict[str, Any]:
    return {
        "run_id": row.run_id,
        "step": row.step,
        "item": index_of(row.position) if is_item(row.position) else None,
        "workflow": row.workflow,
        "app": row.app,
        "queue": row.queue,
        "attempt": row.attempt,
        "started_at": iso(row.started_at),
        "lease_expires_at": iso(row.lease_expires_at),
    }


def _shape(row: Row[Any]) -> dict[str, Any]:
    status = "stopped" if row.stopped_at else ("alive" if row.heard else "silent")
    return {
        "id": row.id,
        "kind": row.kind,
        "status": status,
        "host": row.host,
        "pid": row.pid,
        "queues": list(row.queues),
        "concurrency": row.concurrency,
        "pool": row.pool,
        "running": row.running,
        "version": row.version,
        "listening": row.listening,
        "started_at": iso(row.started_at),
        "seen_at": iso(row.seen_at),
        "stopped_at": iso(row.stopped_at),
    }
