"""Runs that nothing will end, limits that are passed, and processes that are missing; each statement is one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.celery_task import STEPS
from orchestrator.domain.states import RUN_OPEN, RUN_TERMINAL, STEP_OPEN
from orchestrator.store.lease import EXPIRES, QUEUES_QUEUED, QUEUES_READY
from orchestrator.store.tables import HOLDS_SLOTS, one_of

_OPEN, _ENDED = one_of(RUN_OPEN), one_of(RUN_TERMINAL)

_OPEN_RUNS = text(f"""
SELECT id, step_count FROM workflow_runs WHERE status IN {_OPEN} AND id > CAST(:after AS uuid) ORDER BY id LIMIT :limit
""")


def open_runs(conn: Connection, after: str, limit: int) -> Sequence[Row[Any]]:
    """Open runs in the order of their ids, from after `after` on, each with its `step_count`."""
    return conn.execute(_OPEN_RUNS, {"after": after, "limit": limit}).all()


_SURE = f"""CASE
  WHEN r.status = 'pending' AND r.limit_key IS NULL THEN 'never_begins'
  WHEN r.status NOT IN ('pending', 'paused') AND r.halting IS NULL AND NOT EXISTS (
    SELECT FROM workflow_run_steps s WHERE s.run_id = r.id AND s.status IN {one_of(STEP_OPEN)}) THEN 'not_ended'
  WHEN (SELECT count(*) FROM workflow_run_steps s WHERE s.run_id = r.id AND s.position < r.step_count) <> r.step_count
    THEN 'steps_missing'
END"""
_ACTIVE = """(SELECT count(*) FROM workflow_runs a WHERE a.workflow_id = r.workflow_id AND a.limit_key = r.limit_key
  AND a.status IN ('running', 'paused', 'canceling') AND a.limit_key IS NOT NULL)"""
_FIRST = """NOT EXISTS (SELECT FROM workflow_runs b WHERE b.workflow_id = r.workflow_id AND b.limit_key = r.limit_key
  AND b.status = 'pending' AND b.id < r.id)"""
_MOST = """(SELECT coalesce((v.document ->> 'max_active_runs')::int, 1) FROM workflow_revisions v
  WHERE v.id = r.revision_id)"""
_SOON = f"""CASE
  WHEN r.halting IS NOT NULL THEN 'halt_not_carried_out'
  WHEN r.status = 'pending' AND {_FIRST} AND {_ACTIVE} < {_MOST} THEN 'turn_not_given'
  WHEN r.deadline_at < orchestrator_now() - make_interval(secs => :patience) AND {EXPIRES}
    THEN 'deadline_overdue'
END"""
_FIND = f"""
SELECT f.* FROM (
  SELECT r.id AS run_id, r.status, r.halting, r.deadline_at, {{case}} AS kind FROM workflow_runs r
  WHERE r.id = ANY(CAST(:run_ids AS uuid[])) AND r.status IN {_OPEN}
) f WHERE f.kind IS NOT NULL ORDER BY f.run_id
"""
_FIND_SURE, _FIND_SOON = text(_FIND.format(case=_SURE)), text(_FIND.format(case=_SOON))


def find_stuck(conn: Connection, run_ids: Sequence[str]) -> Sequence[Row[Any]]:
    """Those of these runs that are open, and that nothing will end."""
    return conn.execute(_FIND_SURE, {"run_ids": list(run_ids)}).all()


def find_late(conn: Connection, run_ids: Sequence[str], patience: float) -> Sequence[Row[Any]]:
    """Those with something left to be done that may have become due this moment; deadlines are `patience` seconds
    late."""
    return conn.execute(_FIND_SOON, {"run_ids": list(run_ids), "patience": patience}).all()


_OVER = text(f"""
SELECT p.name, p.slots, t.taken FROM pools p CROSS JOIN LATERAL (
  SELECT sum(s.slots) AS taken, max(coalesce(s.queued_at, s.started_at)) AS since FROM workflow_run_steps s
  WHERE s.pool = p.name AND {HOLDS_SLOTS}
) t
WHERE t.taken > p.slots AND t.since > p.changed_at + interval '5 seconds' ORDER BY p.name LIMIT :limit
""")


def find_pools_over(conn: Connection, limit: int) -> Sequence[Row[Any]]:
    """Pools with more slots taken than they have, some of them since the pool was changed last."""
    return conn.execute(_OVER, {"limit": limit}).all()


# A worker of all queues tells those it serves behind a `*`; it finds another one within a second.
_UNSERVED = text(f"""
SELECT q.queue, (SELECT count(*) FROM (SELECT FROM workflow_run_steps s
    WHERE s.status = 'queued' AND s.queue = q.queue LIMIT 1000) AS few) AS steps
FROM ({QUEUES_QUEUED} UNION {QUEUES_READY}) q
WHERE NOT EXISTS (SELECT FROM workers w WHERE w.kind = 'worker' AND w.stopped_at IS NULL
  AND w.seen_at > orchestrator_now() - make_interval(secs => :silent_after)
  AND (q.queue = ANY (w.queues) OR '*' = ANY (w.queues) OR q.queue = '{STEPS}'))
ORDER BY q.queue LIMIT :limit
""")


def find_unserved(conn: Connection, silent_after: float, limit: int) -> Sequence[Row[Any]]:
    """Queues with steps to be run, and no worker that was heard of within `silent_after` seconds."""
    return conn.execute(_UNSERVED, {"silent_after": silent_after, "limit": limit}).all()


_WATCHED = text(f"""
SELECT NOT EXISTS (SELECT FROM workflow_runs WHERE status IN {_OPEN})
  AND NOT EXISTS (SELECT FROM schedules WHERE due_at IS NOT NULL) OR EXISTS (
  SELECT FROM workers w WHERE w.kind = 'beat' AND w.stopped_at IS NULL
  AND w.seen_at > orchestrator_now() - make_interval(secs => :silent_after))
""")


def is_watched(conn: Connection, silent_after: float) -> bool:
    """Whether a coordinator was heard of within `silent_after` seconds, or no run is open and no schedule set."""
    return bool(conn.execute(_WATCHED, {"silent_after": silent_after}).scalar_one())
