"""Worker and beat processes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import iso

_LIST = text("""
SELECT w.id, w.kind, w.host, w.pid, w.queues, w.concurrency, w.pool, w.version, w.started_at, w.seen_at, w.stopped_at,
  w.seen_at > orchestrator_now() - make_interval(secs => :silent_after) AS heard,
  (SELECT count(*) FROM workflow_run_steps s WHERE s.status = 'running' AND s.worker_id = w.id) AS running
FROM workers w ORDER BY w.stopped_at IS NOT NULL, w.kind, w.host, w.started_at, w.id
""")


def list_workers(conn: Connection, *, silent_after: float = 30.0) -> list[dict[str, Any]]:
    """Every process that announced itself and is not forgotten, with the steps it runs now.

    `status`: `alive`, `silent` (not seen for `silent_after` seconds: killed, frozen or cut off) or `stopped`.
    """
    return [_shape(row) for row in conn.execute(_LIST, {"silent_after": silent_after})]


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
        "started_at": iso(row.started_at),
        "seen_at": iso(row.seen_at),
        "stopped_at": iso(row.stopped_at),
    }
