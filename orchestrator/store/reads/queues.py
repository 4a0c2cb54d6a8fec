"""Queues: how much waits in each, for how long, and who takes from it.

Live rows only, by the indexes that are made for them; each count stops at `MOST_COUNTED`, so that a long backlog costs
no more than that.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.lease import QUEUES_QUEUED, QUEUES_READY
from orchestrator.store.reads.page import Page, iso, pack_cursor, page_of, unpack_cursor

MOST_COUNTED = 100_000
_LISTENING_SECONDS = 60  # as store/workers.count_slots has it
_DUE = "s.status = 'ready' AND s.next_attempt_at IS NULL AND s.held_at IS NULL"
_LIST = text(f"""
WITH running AS MATERIALIZED (
  SELECT queue, count(*) AS steps FROM workflow_run_steps WHERE status = 'running' GROUP BY queue
), listening AS MATERIALIZED (
  SELECT w.id, w.concurrency, CAST(q AS text) AS queue FROM workers w, unnest(w.queues) AS q
  WHERE w.kind = 'worker' AND w.stopped_at IS NULL
    AND w.seen_at > orchestrator_now() - make_interval(secs => {_LISTENING_SECONDS})
), named AS (
  SELECT queue FROM {QUEUES_QUEUED} q1 UNION SELECT queue FROM {QUEUES_READY} q2
  UNION SELECT queue FROM running UNION SELECT queue FROM listening WHERE queue <> '*'
)
SELECT n.queue, ready.steps AS ready, ready.oldest, queued.steps AS queued, coalesce(r.steps, 0) AS running,
  l.workers, l.slots
FROM named n LEFT JOIN running r ON r.queue = n.queue
CROSS JOIN LATERAL (SELECT count(*) AS steps, min(ready_at) AS oldest FROM (
  SELECT s.ready_at FROM workflow_run_steps s WHERE {_DUE} AND s.queue = n.queue LIMIT {MOST_COUNTED}) one) ready
CROSS JOIN LATERAL (SELECT count(*) AS steps FROM (
  SELECT FROM workflow_run_steps s WHERE s.status = 'queued' AND s.queue = n.queue LIMIT {MOST_COUNTED}) one) queued
CROSS JOIN LATERAL (SELECT count(DISTINCT id) AS workers, coalesce(sum(concurrency), 0) AS slots
  FROM listening WHERE queue = n.queue) l
WHERE n.queue > :after ORDER BY n.queue LIMIT :limit
""")


def list_queues(conn: Connection, after: str | None = None, limit: int = 100) -> Page:
    """A page of the queues in use, by name: those with steps, and those that a worker takes from.

    `ready` steps wait to be sent, `queued` ones were; both are counted to `MOST_COUNTED`. `oldest` is since when the
    first of the ready ones waits. `workers` and `slots` are those that take from it now.
    """
    (last,) = unpack_cursor(after, 1) if after is not None else ("",)
    rows = conn.execute(_LIST, {"after": last, "limit": limit + 1}).all()
    return page_of(rows, limit, _shape, lambda row: pack_cursor(row.queue))


def _shape(row: Row[Any]) -> dict[str, Any]:
    return {
        "name": row.queue,
        "ready": row.ready,
        "queued": row.queued,
        "running": row.running,
        "oldest": iso(row.oldest),
        "workers": row.workers,
        "slots": row.slots,
    }
