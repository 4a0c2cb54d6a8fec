"""Step rows: insertion at a run's start, and reads under lock in the one lock order (run, position ascending)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.blobs import QUOTED, folder_of
from orchestrator.domain.cascade import StepRow
from orchestrator.domain.precedence import PastEnd
from orchestrator.domain.rules import Tally
from orchestrator.domain.states import StepStatus
from orchestrator.store.item_columns import STEPS_ONLY
from orchestrator.store.transition import as_text


@dataclass(frozen=True, slots=True)
class NewStep:
    """A step row to be. `ready` starts it as ready; `status` other than pending or ready ends it at once."""

    id: str
    position: int
    name: str
    function: str | None
    leaf: bool
    status: StepStatus
    queue: str | None
    priority: int
    pool: str | None
    slots: int
    tally: Tally
    max_attempts: int | None
    reason: str | None = None
    error: Mapping[str, Any] | None = None
    output: Any = None
    edge_truth: Mapping[str, Any] | None = None


_APP = "(SELECT run.app_id FROM workflow_runs run WHERE run.id = :run_id)"
_INSERT = text(f"""
INSERT INTO workflow_run_steps (id, run_id, app_id, position, name, function, leaf, status, reason, queue, priority,
  pool, slots, source_count, remaining_sources, satisfied_sources, failed_sources, upstream_failed_sources,
  skipped_sources, edge_errors, edge_truth, max_attempts, error, output, ready_at, finished_at)
SELECT id, :run_id, {_APP}, position, name, function, leaf, status, reason, queue, priority, pool, slots, total,
  remaining, satisfied, failed, upstream_failed, skipped, edge_errors, CAST(truth AS json), max_attempts,
  CAST(error AS json), CAST(output AS json),
  CASE WHEN status = 'ready' THEN orchestrator_now() END,
  CASE WHEN status NOT IN ('pending', 'ready') THEN orchestrator_now() END
FROM unnest(
  CAST(:id AS uuid[]), CAST(:position AS int[]), CAST(:name AS text[]), CAST(:function AS text[]),
  CAST(:leaf AS boolean[]), CAST(:status AS text[]),
  CAST(:reason AS text[]), CAST(:queue AS text[]), CAST(:priority AS smallint[]), CAST(:pool AS text[]),
  CAST(:slots AS int[]), CAST(:total AS int[]),
  CAST(:remaining AS int[]), CAST(:satisfied AS int[]), CAST(:failed AS int[]), CAST(:upstream_failed AS int[]),
  CAST(:skipped AS int[]), CAST(:edge_errors AS int[]), CAST(:truth AS text[]), CAST(:max_attempts AS int[]),
  CAST(:error AS text[]), CAST(:output AS text[])
) AS n (id, position, name, function, leaf, status, reason, queue, priority, pool, slots, total, remaining, satisfied,
  failed, upstream_failed, skipped, edge_errors, truth, max_attempts, error, output)
""")
_TALLY = ("total", "remaining", "satisfied", "failed", "upstream_failed", "skipped", "edge_errors")
_PLAIN = (
    *("id", "position", "name", "function", "leaf", "status", "reason", "queue", "priority", "pool", "slots"),
    "max_attempts",
)


def insert_steps(conn: Connection, run_id: str, steps: Sequence[NewStep]) -> None:
    """Insert all of a run's steps in one statement."""
    columns: dict[str, Any] = {name: [getattr(s, name) for s in steps] for name in _PLAIN}
    columns |= {name: [getattr(s.tally, name) for s in steps] for name in _TALLY}
    columns["truth"] = [as_text(s.edge_truth or None) for s in steps]
    columns["error"] = [as_text(s.error) for s in steps]
    columns["output"] = [as_text(s.output) for s in steps]
    conn.execute(_INSERT, columns | {"run_id": run_id})


# The ends are copied in the database: their outputs may be large.
_KEPT = "CAST(replace(CAST(s.{0} AS text), :old_blobs, :new_blobs) AS json)"
_INSERT_REUSED = text(f"""
INSERT INTO workflow_run_steps (id, run_id, app_id, position, name, function, leaf, status, reason, queue, priority,
  source_count, remaining_sources, satisfied_sources, failed_sources, upstream_failed_sources, skipped_sources,
  edge_errors, edge_truth, max_attempts, attempt, attempt_base, lost_count, input, output, error, ready_at, started_at,
  finished_at, items, reused_step_id)
SELECT n.id, :run_id, {_APP}, n.position, n.name, n.function, n.leaf, s.status, s.reason, s.queue, n.priority, n.total,
  n.remaining, n.satisfied, n.failed, n.upstream_failed, n.skipped, n.edge_errors, CAST(n.truth AS json),
  n.max_attempts, s.attempt, s.attempt_base, s.lost_count, {_KEPT.format("input")}, {_KEPT.format("output")}, s.error,
  s.ready_at, s.started_at, s.finished_at, s.items, coalesce(s.reused_step_id, s.id)
FROM unnest(
  CAST(:id AS uuid[]), CAST(:position AS int[]), CAST(:name AS text[]), CAST(:function AS text[]),
  CAST(:leaf AS boolean[]), CAST(:priority AS smallint[]), CAST(:total AS int[]), CAST(:remaining AS int[]),
  CAST(:satisfied AS int[]), CAST(:failed AS int[]), CAST(:upstream_failed AS int[]), CAST(:skipped AS int[]),
  CAST(:edge_errors AS int[]), CAST(:truth AS text[]), CAST(:max_attempts AS int[]), CAST(:earlier AS uuid[])
) AS n (id, position, name, function, leaf, priority, total, remaining, satisfied, failed, upstream_failed, skipped,
  edge_errors, truth, max_attempts, earlier)
JOIN workflow_run_steps s ON s.id = n.earlier WHERE s.id = ANY(CAST(:earlier AS uuid[]))
""")


def insert_reused(conn: Connection, run_id: str, earlier: str, steps: Sequence[tuple[NewStep, str]]) -> None:
    """Insert steps that end as those of run `earlier` did (their ids), with their outputs; tallies are the new steps'.

    References to blobs of that run become references to the new run's, which has copies.
    """
    fresh = [step for step, _ in steps]
    columns: dict[str, Any] = {name: [getattr(s, name) for s in fresh] for name in _PLAIN}
    columns |= {name: [getattr(s.tally, name) for s in fresh] for name in _TALLY}
    columns |= {"truth": [as_text(s.edge_truth or None) for s in fresh], "earlier": [id for _, id in steps]}
    columns |= {"old_blobs": _folder(earlier), "new_blobs": _folder(run_id)}
    conn.execute(_INSERT_REUSED, columns | {"run_id": run_id})


def _folder(run_id: str) -> str:
    """How the text of a reference to one of its blobs begins: as no other text does."""
    return f'{QUOTED}:"{folder_of(run_id)}/'


_REFERENCES = text(f"""
SELECT CAST(v.value AS text) FROM workflow_run_steps s CROSS JOIN LATERAL (VALUES (s.input), (s.output)) AS v (value)
WHERE s.id = ANY(CAST(:ids AS uuid[])) AND strpos(CAST(v.value AS text), '{QUOTED}') > 0
""")


def load_references(conn: Connection, ids: Sequence[str]) -> Sequence[str]:
    """The JSON texts of those inputs and outputs of the steps that refer to blobs."""
    return conn.execute(_REFERENCES, {"ids": list(ids)}).scalars().all()


_ROW = """position, status, source_count, remaining_sources, satisfied_sources, failed_sources,
  upstream_failed_sources, skipped_sources, edge_errors, edge_truth, queue, held_at IS NOT NULL AS held"""

_LOCK = text(f"""
SELECT {_ROW} FROM workflow_run_steps WHERE run_id = :run_id AND position = ANY(:positions)
ORDER BY position FOR UPDATE
""")


def lock_steps(conn: Connection, run_id: str, positions: Sequence[int]) -> dict[int, StepRow]:
    """The rows at `positions`, locked in ascending order."""
    rows = conn.execute(_LOCK, {"run_id": run_id, "positions": list(positions)})
    return {row.position: _step_row(row) for row in rows}


_LOCK_ALL = text(f"""
SELECT {_ROW} FROM workflow_run_steps
WHERE run_id = :run_id AND {STEPS_ONLY}
  AND (position < :graph OR status IN ('pending', 'ready', 'queued', 'running', 'waiting'))
ORDER BY position FOR UPDATE
""")


def lock_all_steps(conn: Connection, run_id: str, graph: int) -> dict[int, StepRow]:
    """The rows of the `graph` first positions and of open handlers, locked in ascending order: for rare acts.

    Not those of items, of which there may be very many: see item_rows.lock_open.

    A handler that ended is left alone: its row is touched again only under the run's lock, which comes last.
    """
    return {row.position: _step_row(row) for row in conn.execute(_LOCK_ALL, {"run_id": run_id, "graph": graph})}


def _step_row(row: Row[Any]) -> StepRow:
    tally = Tally(
        total=row.source_count,
        remaining=row.remaining_sources,
        satisfied=row.satisfied_sources,
        failed=row.failed_sources,
        upstream_failed=row.upstream_failed_sources,
        skipped=row.skipped_sources,
        edge_errors=row.edge_errors,
    )
    return StepRow(row.position, StepStatus(row.status), tally, row.edge_truth or {}, row.queue, row.held)


_LOCK_ATTEMPT = text("""
SELECT attempt, attempt_base, lost_count, max_attempts, cancel_requested_at IS NOT NULL AS cancel_requested,
  extract(epoch FROM total_deadline_at - orchestrator_now())::float8 AS total_seconds_left
FROM workflow_run_steps WHERE id = :id AND claim_token = :token AND status = 'running' FOR UPDATE
""")


def lock_attempt(conn: Connection, step_id: str, token: str) -> Row[Any] | None:
    """The facts a verdict needs, locked; None when the claim no longer holds."""
    return conn.execute(_LOCK_ATTEMPT, {"id": step_id, "token": token}).first()


# From the far end, where what is still open is likely to lie: nearer ones leave dead index entries behind.
_OPEN = text("""
SELECT (SELECT position FROM workflow_run_steps
  WHERE run_id = :run_id AND status IN ('pending', 'ready', 'queued', 'running', 'waiting')
  ORDER BY position DESC LIMIT 1) IS NOT NULL
""")


def any_open(conn: Connection, run_id: str) -> bool:
    """Whether a step of the run is not at its end."""
    return bool(conn.execute(_OPEN, {"run_id": run_id}).scalar_one())


_VIEWS = text("""
SELECT position, name, status, output, error, attempt, items FROM workflow_run_steps
WHERE run_id = :run_id AND position = ANY(:positions)
""")


def load_results(conn: Connection, run_id: str, positions: Sequence[int]) -> Sequence[Row[Any]]:
    """Status, output and error of the steps at `positions`, for templates."""
    return conn.execute(_VIEWS, {"run_id": run_id, "positions": list(positions)}).all()


_FAILED = text("""
SELECT position, name, error FROM workflow_run_steps
WHERE run_id = :run_id AND position = ANY(:positions) AND status = 'failed'
ORDER BY finished_at, position
""")


def load_failed(conn: Connection, run_id: str, positions: Sequence[int]) -> Sequence[Row[Any]]:
    """Those of the steps at `positions` that failed, first to fail first."""
    return conn.execute(_FAILED, {"run_id": run_id, "positions": list(positions)}).all()


_STATES = text("""
SELECT position, status, started_at IS NOT NULL OR status = 'succeeded' AS started
FROM workflow_run_steps WHERE run_id = :run_id AND position = ANY(:positions)
""")


def load_states(conn: Connection, run_id: str, positions: Sequence[int]) -> Sequence[Row[Any]]:
    """Status of the steps at `positions`, and whether each was ever started (a pass step starts and ends at once)."""
    if not positions:
        return []
    return conn.execute(_STATES, {"run_id": run_id, "positions": list(positions)}).all()


_ENDS = text("""
SELECT position, status, reason FROM workflow_run_steps WHERE run_id = :run_id AND position = ANY(:positions)
""")


def load_ends(conn: Connection, run_id: str, positions: Sequence[int]) -> dict[int, PastEnd]:
    """How the steps at `positions` stand."""
    rows = conn.execute(_ENDS, {"run_id": run_id, "positions": list(positions)})
    return {row.position: PastEnd(StepStatus(row.status), row.reason) for row in rows}


_DEADLINES = text("""
WITH armed AS (
  SELECT orchestrator_now() + make_interval(secs => CAST(:timeout AS double precision)) AS attempt,
    coalesce(total_deadline_at, orchestrator_now() + make_interval(secs => CAST(:total AS double precision))) AS total
  FROM workflow_run_steps WHERE id = :id
)
UPDATE workflow_run_steps s SET attempt_deadline_at = least(a.attempt, a.total), total_deadline_at = a.total
FROM armed a WHERE s.id = :id AND s.claim_token = :token
RETURNING extract(epoch FROM s.attempt_deadline_at - orchestrator_now())::float8
""")


def arm_deadlines(
    conn: Connection, step_id: str, token: str, timeout: float | None, total: float | None
) -> float | None:
    """Set when the attempt, and all attempts together (once, at the first), must have ended; seconds from now.

    Returns how many seconds the attempt may take; None when its claim no longer holds.
    """
    values = {"id": step_id, "token": token, "timeout": timeout, "total": total}
    allowed: float | None = conn.execute(_DEADLINES, values).scalar()
    return allowed


_HALF = text("""
SELECT wait, orchestrator_now() AS now,
  CASE WHEN attempt_deadline_at <= orchestrator_now()
    THEN extract(epoch FROM attempt_deadline_at - started_at)::float8 END AS used_up
FROM workflow_run_steps WHERE id = :id AND claim_token = :token AND status = 'running'
""")


def load_half(conn: Connection, step_id: str, token: str) -> Row[Any] | None:
    """What a claimed attempt waited for (NULL: it begins), the time, and its timeout in seconds if that is used up."""
    return conn.execute(_HALF, {"id": step_id, "token": token}).first()


_REQUEST_CANCEL = text("""
UPDATE workflow_run_steps SET cancel_requested_at = coalesce(cancel_requested_at, orchestrator_now())
WHERE run_id = :run_id AND (position < :below OR item_of IS NOT NULL)
  AND (status = 'running' OR status = 'waiting' AND wait ->> 'for' = 'child')
""")


def request_cancel(conn: Connection, run_id: str, below: int) -> None:
    """Tell attempts that run, or wait for a child, to come to their end, for positions under `below` and items; none of
    them is tried again."""
    conn.execute(_REQUEST_CANCEL, {"run_id": run_id, "below": below})


# The attempt of one that was woken is counted again by its claim.
_LAST_ATTEMPT = text("""
UPDATE workflow_run_steps
SET max_attempts = attempt - attempt_base - lost_count + CASE WHEN status IN ('ready', 'queued') THEN 1 ELSE 0 END
WHERE run_id = :run_id AND (status IN ('running', 'waiting') OR wait IS NOT NULL AND status IN ('ready', 'queued'))
""")


def forbid_retries(conn: Connection, run_id: str) -> None:
    """Attempts under way are their steps' last ones (a drained run starts nothing new)."""
    conn.execute(_LAST_ATTEMPT, {"run_id": run_id})


_SET_TALLIES = text("""
UPDATE workflow_run_steps s SET remaining_sources = c.remaining, satisfied_sources = c.satisfied,
  failed_sources = c.failed, upstream_failed_sources = c.upstream_failed, skipped_sources = c.skipped,
  edge_errors = c.edge_errors, edge_truth = CAST(c.truth AS json)
FROM unnest(
  CAST(:position AS int[]), CAST(:remaining AS int[]), CAST(:satisfied AS int[]), CAST(:failed AS int[]),
  CAST(:upstream_failed AS int[]), CAST(:skipped AS int[]), CAST(:edge_errors AS int[]), CAST(:truth AS text[])
) AS c (position, remaining, satisfied, failed, upstream_failed, skipped, edge_errors, truth)
WHERE s.run_id = :run_id AND s.position = c.position AND s.position = ANY(CAST(:position AS int[]))
""")


def set_tallies(
    conn: Connection,
    run_id: str,
    tallies: Mapping[int, tuple[Tally, Mapping[str, bool | str]]],
    before: Mapping[int, StepRow],
) -> None:
    """Store tallies counted afresh, where they differ from the locked rows `before`."""
    changed = {p: t for p, t in tallies.items() if (t[0], t[1]) != (before[p].tally, before[p].edge_truth)}
    if not changed:
        return
    columns: dict[str, Any] = {n: [getattr(t[0], n) for t in changed.values()] for n in _TALLY[1:]}
    columns |= {"position": list(changed), "truth": [as_text(t[1] or None) for t in changed.values()]}
    conn.execute(_SET_TALLIES, columns | {"run_id": run_id})


_READY_QUEUES = text("SELECT DISTINCT queue FROM workflow_run_steps WHERE run_id = :run_id AND status = 'ready'")


def ready_queues(conn: Connection, run_id: str) -> set[str]:
    """The queues the run's ready steps go to."""
    return set(conn.execute(_READY_QUEUES, {"run_id": run_id}).scalars())
