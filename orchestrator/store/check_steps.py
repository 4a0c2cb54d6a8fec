"""Open steps that nothing will move, found from the rows; each statement is one moment of the database.

`*_SURE` can never be, whatever is under way; `*_SOON` may be for a moment, and is wrong only if it lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.items import FIRST_ITEM
from orchestrator.domain.states import RUN_TERMINAL, STEP_OPEN
from orchestrator.store.tables import one_of

_OPEN, _ENDED = one_of(STEP_OPEN), one_of(RUN_TERMINAL)
# Due times are compared with what lies this far back: until then the coordinator has time.
LATE = "orchestrator_now() - make_interval(secs => :patience)"

_UNTIL = text(f"""
SELECT run_id FROM workflow_run_steps WHERE status IN {_OPEN} AND run_id > CAST(:after AS uuid)
ORDER BY run_id, position OFFSET :size LIMIT 1
""")


def next_portion(conn: Connection, after: str, size: int) -> str | None:
    """The id of a run: those from after `after` up to it have about `size` open steps. None: these are the last."""
    return conn.execute(_UNTIL, {"after": after, "size": size}).scalar()


# An event that came is given to who waits for it in the transaction that keeps it.
_KEPT = """EXISTS (SELECT FROM workflow_signals g
  WHERE g.run_id = s.run_id AND g.name = s.wait ->> 'event' AND g.step_id IS NULL)"""
_TRIED = """(SELECT count(*) FROM workflow_step_attempts a WHERE a.step_id = s.id AND a.number > s.attempt_base)"""

_SURE = f"""CASE
  WHEN r.status IN {_ENDED} THEN 'open_in_ended_run'
  WHEN s.status = 'pending' AND s.position < r.step_count AND s.remaining_sources = 0 AND r.status <> 'pending'
    AND r.halting IS NULL THEN 'not_decided'
  WHEN s.item_of IS NOT NULL AND o.finished_at IS NOT NULL AND o.items_stop IS NULL
    AND s.status = 'pending' THEN 'item_of_ended_step'
  WHEN s.status = 'pending' AND s.item_of IS NOT NULL AND o.status = 'waiting' AND o.items_stop IS NULL
    AND (o.items_free IS NULL OR o.items_free > 0) THEN 'item_not_begun'
  WHEN s.status = 'running' AND s.worker_id IS NULL THEN 'held_by_nobody'
  WHEN s.status = 'waiting' THEN CASE s.wait ->> 'for'
    WHEN 'event' THEN CASE WHEN s.wait ->> 'signal' IS NOT NULL OR {_KEPT} THEN 'event_not_taken' END
    WHEN 'approval' THEN CASE WHEN s.wait ->> 'signal' IS NOT NULL OR {_KEPT} THEN 'event_not_taken' END
    WHEN 'child' THEN CASE
      WHEN c.id IS NULL AND s.wake_at IS NULL THEN 'child_gone'
      WHEN c.id IS NOT NULL AND NOT c.parent_waits THEN 'child_will_not_tell' END
    WHEN 'items' THEN CASE
      WHEN s.items_open = 0 THEN 'items_have_ended'
      WHEN s.items_made < s.items_total AND s.items_stop IS NULL AND s.cancel_requested_at IS NULL
        THEN 'items_not_made' END
    WHEN 'steps' THEN CASE
      WHEN s.wake_at IS NULL AND s.items_open <= s.items_spared AND CAST(s.wait ->> 'count' AS int) > 0
        THEN 'calls_have_ended' END
    ELSE CASE WHEN s.wake_at IS NULL THEN 'never_woken' END
  END
  WHEN s.status IN ('ready', 'queued', 'running')
    AND {_TRIED} <> s.attempt - s.attempt_base - (s.status = 'running')::int THEN 'history_incomplete'
END"""

_SOON = f"""CASE
  WHEN s.status = 'ready' AND s.next_attempt_at < {LATE} THEN 'retry_overdue'
  WHEN s.status = 'waiting' AND s.wake_at < {LATE} THEN 'wake_overdue'
  WHEN s.status = 'running' AND s.lease_expires_at < {LATE} THEN 'lease_overdue'
  WHEN s.status = 'running' AND s.attempt_deadline_at + make_interval(secs => :grace) < {LATE} THEN 'timeout_overdue'
  WHEN s.status IN ('ready', 'queued') AND s.total_deadline_at < {LATE} THEN 'total_timeout_overdue'
  WHEN s.status = 'queued' AND r.status = 'paused' THEN 'sent_while_paused'
  WHEN s.items_stop IS NOT NULL OR o.items_stop IS NOT NULL THEN 'items_not_stopped'
  WHEN s.status = 'ready' AND s.next_attempt_at IS NULL AND s.held_at IS NULL AND r.halting IS NULL
    AND r.status IN ('running', 'canceling') THEN CASE
    WHEN s.pool IS NOT NULL AND s.wait IS NULL THEN CASE
      WHEN p.name IS NULL THEN 'pool_missing'
      WHEN p.slots > 0 AND s.slots > p.slots THEN 'pool_too_small' END
    WHEN s.ready_at < {LATE}
      AND NOT EXISTS (SELECT FROM workflow_run_steps q WHERE q.status = 'queued' AND q.queue = s.queue)
      AND NOT EXISTS (SELECT FROM workflow_run_steps q WHERE q.status = 'running' AND q.queue = s.queue)
      THEN 'not_sent' END
END"""

_WRONG = f"""
SELECT f.* FROM (
  SELECT s.run_id, s.name, s.item_index, s.status, s.queue, s.pool, s.attempt, s.wait ->> 'run_id' AS child,
    s.wait ->> 'event' AS event, r.status AS run_status, {{case}} AS kind
  FROM workflow_run_steps s
  JOIN workflow_runs r ON r.id = s.run_id
  LEFT JOIN workflow_run_steps o ON s.item_of IS NOT NULL AND o.run_id = s.run_id AND o.position = s.item_of
  LEFT JOIN workflow_runs c ON s.wait ->> 'for' = 'child' AND c.id = CAST(s.wait ->> 'run_id' AS uuid)
  LEFT JOIN pools p ON p.name = s.pool
  WHERE s.status IN {_OPEN} AND {{which}}
) f WHERE f.kind IS NOT NULL ORDER BY f.run_id, f.name, f.item_index
"""
_PORTION = "s.run_id > CAST(:after AS uuid) AND (CAST(:until AS uuid) IS NULL OR s.run_id <= CAST(:until AS uuid))"
_FIND_SURE = text(_WRONG.format(case=_SURE, which=_PORTION))
_FIND_SOON = text(_WRONG.format(case=_SOON, which=_PORTION))


def find_stuck(conn: Connection, after: str, until: str | None) -> Sequence[Row[Any]]:
    """Steps of the runs from after `after` up to `until` that nothing will move."""
    return conn.execute(_FIND_SURE, {"after": after, "until": until}).all()


def find_late(conn: Connection, after: str, until: str | None, patience: float, grace: float) -> Sequence[Row[Any]]:
    """Steps of these runs that should have been moved, unless it has only just become due: what is due is `patience`
    seconds late. `grace` as the coordinator has it."""
    return conn.execute(_FIND_SOON, {"after": after, "until": until, "patience": patience, "grace": grace}).all()


_COUNT = text(f"SELECT count(*) FROM workflow_run_steps s WHERE s.status IN {_OPEN} AND {_PORTION}")


def count_open(conn: Connection, after: str, until: str | None) -> int:
    """How many open steps these runs have."""
    return int(conn.execute(_COUNT, {"after": after, "until": until}).scalar_one())


# What a step's row says of its items, and what they say.
_MISCOUNTED = text(f"""
SELECT s.run_id, s.name, s.items_open, s.items_failed, s.items_made, n.made, n.open, n.failed, n.under_way
FROM workflow_run_steps s CROSS JOIN LATERAL (
  SELECT count(*) AS made, count(*) FILTER (WHERE i.status IN {_OPEN}) AS open,
    count(*) FILTER (WHERE i.status = 'failed') AS failed,
    count(*) FILTER (WHERE i.status IN {_OPEN} AND i.status <> 'pending') AS under_way
  FROM workflow_run_steps i
  WHERE i.run_id = s.run_id AND i.position >= s.items_first AND i.position < s.items_first + s.items_made
) n
WHERE s.status IN {_OPEN} AND s.position < {FIRST_ITEM} AND s.items_total IS NOT NULL AND {_PORTION} AND (
  (s.items_made, s.items_open, s.items_failed) IS DISTINCT FROM (n.made, n.open, n.failed)
  OR (s.status = 'waiting' AND n.open > 0 AND n.under_way = 0 AND s.items_stop IS NULL))
ORDER BY s.run_id, s.position
""")


def find_miscounted_items(conn: Connection, after: str, until: str | None) -> Sequence[Row[Any]]:
    """Open steps of these runs whose counts of items are not those of their items, or none of whose items is under
    way."""
    return conn.execute(_MISCOUNTED, {"after": after, "until": until}).all()


# The same for a step that runs a function, and the steps that this has begun.
_MISCOUNTED_CALLS = text(f"""
SELECT s.run_id, s.name, s.items_open, n.open, n.under_way
FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id CROSS JOIN LATERAL (
  SELECT count(*) AS open, count(*) FILTER (WHERE b.status <> 'pending') AS under_way
  FROM workflow_run_steps b
  WHERE b.run_id = s.run_id AND b.position > 0 AND b.position < {FIRST_ITEM} AND b.status IN {_OPEN}
) n
WHERE s.status IN {_OPEN} AND s.position = 0 AND s.items_total IS NULL AND s.items_open IS NOT NULL AND {_PORTION}
  AND (s.items_open <> n.open OR (s.status = 'waiting' AND n.open > 0 AND n.under_way = 0))
ORDER BY s.run_id
""")


def find_miscounted_calls(conn: Connection, after: str, until: str | None) -> Sequence[Row[Any]]:
    """Functions of these runs whose count of open steps is not that of the steps they have begun, or none of whose open
    steps is under way."""
    return conn.execute(_MISCOUNTED_CALLS, {"after": after, "until": until}).all()


_TALLIES = text(f"""
SELECT s.run_id, r.revision_id, s.position, s.name, s.status, s.source_count, s.remaining_sources, s.satisfied_sources,
  s.failed_sources, s.upstream_failed_sources, s.skipped_sources, s.edge_errors, s.edge_truth
FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id
WHERE s.run_id = ANY(CAST(:run_ids AS uuid[])) AND s.position < r.step_count AND r.status NOT IN {_ENDED}
ORDER BY s.run_id, s.position
""")


def load_tallies(conn: Connection, run_ids: Sequence[str]) -> Sequence[Row[Any]]:
    """The steps of those of these runs that are open, with what is kept of their sources."""
    return conn.execute(_TALLIES, {"run_ids": list(run_ids)}).all()
