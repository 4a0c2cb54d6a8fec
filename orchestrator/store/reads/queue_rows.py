"""Queues as the pages show them: what waits, retries included, for how long, and whether anybody listens."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.page import iso

# What waits is counted to a bound: a backlog may be long.
MOST_COUNTED = 2_000
_READY = "status = 'ready' AND next_attempt_at IS NULL AND held_at IS NULL"
_RETRIES = "status = 'ready' AND next_attempt_at IS NOT NULL"
# The names come from one probe of the index each.
_NAMES = """
{name} (queue) AS (
  (SELECT queue FROM workflow_run_steps WHERE {which} AND queue IS NOT NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT s.queue FROM workflow_run_steps s WHERE {which} AND s.queue > n.queue ORDER BY s.queue LIMIT 1)
  FROM {name} n WHERE n.queue IS NOT NULL
)"""
_LIST = text(f"""
WITH RECURSIVE {_NAMES.format(name="ready", which=_READY)}, {_NAMES.format(name="sent", which="status = 'queued'")},
running AS (SELECT queue, count(*) AS steps FROM workflow_run_steps WHERE status = 'running' GROUP BY queue),
retries AS (SELECT queue, count(*) AS steps
  FROM (SELECT queue FROM workflow_run_steps WHERE {_RETRIES} LIMIT {MOST_COUNTED}) r GROUP BY queue),
listening AS (SELECT unnest(queues) AS queue, count(*) AS workers FROM workers WHERE kind = 'worker'
  AND stopped_at IS NULL AND seen_at > orchestrator_now() - make_interval(secs => :silent_after) GROUP BY 1),
names AS (SELECT queue FROM ready UNION SELECT queue FROM sent UNION SELECT queue FROM running
  UNION SELECT queue FROM retries UNION SELECT queue FROM listening WHERE queue <> '*')
SELECT n.queue AS name, r.steps AS ready, r.oldest, q.steps AS queued, q.oldest AS sent_at,
  coalesce(running.steps, 0) AS running, coalesce(retries.steps, 0) AS retrying,
  coalesce(listening.workers, 0) AS workers,
  EXISTS (SELECT FROM listening WHERE queue = '*') AS served_soon
FROM names n
CROSS JOIN LATERAL (SELECT count(*) AS steps, min(ready_at) AS oldest FROM (
  SELECT ready_at FROM workflow_run_steps WHERE {_READY} AND queue = n.queue LIMIT {MOST_COUNTED}) s) r
CROSS JOIN LATERAL (SELECT count(*) AS steps, min(queued_at) AS oldest FROM (
  SELECT queued_at FROM workflow_run_steps WHERE status = 'queued' AND queue = n.queue LIMIT {MOST_COUNTED}) s) q
LEFT JOIN running USING (queue) LEFT JOIN retries USING (queue) LEFT JOIN listening USING (queue)
WHERE n.queue IS NOT NULL ORDER BY n.queue
""")


def list_queue_rows(conn: Connection, *, silent_after: float = 30.0) -> list[dict[str, Any]]:
    """Every queue in which something is or to which a worker listens, by name; what waits counts to 2,000.

    `oldest`: since when the first of them waits, among those counted. `stuck`: steps wait, and nobody
    listens, nor is there a worker of all queues, which soon will.
    """
    return [_shape(row) for row in conn.execute(_LIST, {"silent_after": silent_after})]


def _shape(row: Row[Any]) -> dict[str, Any]:
    waits = [at for at in (row.oldest, row.sent_at) if at is not None]
    return {
        "name": row.name,
        "ready": row.ready,
        "queued": row.queued,
        "running": row.running,
        "retrying": row.retrying,
        "oldest": iso(min(waits)) if waits else None,
        "workers": row.workers,
        "stuck": row.ready + row.queued > 0 and not (row.workers or row.served_soon),
    }
