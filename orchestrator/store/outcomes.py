"""A run as it ended (or stands), for tests and for those who wait for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, TextClause, text

from orchestrator.errors import unknown_run
from orchestrator.store.item_columns import STEPS_ONLY

_SETTLED = text("SELECT status IN ('succeeded', 'failed', 'canceled', 'paused') FROM workflow_runs WHERE id = :id")


def is_settled(conn: Connection, run_id: str) -> bool:
    """Whether the run is over, or paused: nothing will move it by itself."""
    return bool(conn.execute(_SETTLED, {"id": run_id}).scalar_one())


_RUN = text("""
SELECT r.id, w.name AS workflow, r.status, r.input, r.output, r.error, r.vars, r.depth, r.parent_run_id,
  coalesce(r.finished_at, orchestrator_now()) - r.created_at AS duration
FROM workflow_runs r JOIN workflow_revisions v ON v.id = r.revision_id JOIN workflows w ON w.id = v.workflow_id
WHERE r.id = :id
""")


def load_run(conn: Connection, run_id: str) -> dict[str, Any]:
    """The run's end; raises `NotFound`."""
    row = conn.execute(_RUN, {"id": run_id}).first()
    if row is None:
        raise unknown_run(run_id)
    return dict(row._mapping)


_STEPS = """
SELECT s.name, s.status, s.reason, s.input, s.output, s.error, s.attempt AS attempts, s.started_at, s.finished_at,
  coalesce((SELECT json_agg(json_build_object('number', a.number, 'outcome', a.outcome, 'error', a.error,
     'started_at', a.started_at, 'finished_at', a.finished_at, 'retry_at', a.retry_at) ORDER BY a.number)
   FROM workflow_step_attempts a WHERE a.step_id = s.id), '[]') AS history,
  (SELECT k.child_run_id FROM workflow_children k WHERE k.parent_step_id = coalesce(s.reused_step_id, s.id)
   ORDER BY k.attempt DESC LIMIT 1) AS child_run_id
FROM workflow_run_steps s WHERE s.run_id = :id AND {which} ORDER BY s.position
"""
_OF_STEPS = text(_STEPS.format(which=f"s.{STEPS_ONLY}"))
_OF_ITEMS = text(_STEPS.format(which=f"NOT s.{STEPS_ONLY}"))


def load_steps(conn: Connection, run_id: str) -> list[dict[str, Any]]:
    """Every step of the run with the history of its attempts, in graph order; not its items."""
    return _load(conn, run_id, _OF_STEPS)


def load_items(conn: Connection, run_id: str) -> dict[str, list[dict[str, Any]]]:
    """The same for every item of the run, by the name of their step, in their order."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for item in _load(conn, run_id, _OF_ITEMS):
        found[item["name"]].append(item)
    return found


def _load(conn: Connection, run_id: str, statement: TextClause) -> list[dict[str, Any]]:
    rows = conn.execute(statement, {"id": run_id})
    return [dict(row._mapping) | {"history": tuple(row.history)} for row in rows]


_CHILDREN = text("SELECT id FROM workflow_runs WHERE parent_run_id = :id ORDER BY created_at, id")


def load_children(conn: Connection, run_id: str) -> list[str]:
    """The runs that steps of the run started, in that order."""
    return list(conn.execute(_CHILDREN, {"id": run_id}).scalars())


def load_events(conn: Connection, run_id: str) -> list[dict[str, Any]]:
    """The run's events in order."""
    rows = conn.execute(text("SELECT kind, at, data FROM run_events WHERE run_id = :id ORDER BY id"), {"id": run_id})
    return [dict(row._mapping) for row in rows]


_OPEN = text("""
SELECT name, status || CASE WHEN held_at IS NOT NULL THEN ' and held' ELSE '' END AS status FROM workflow_run_steps
WHERE run_id = :id AND status IN ('pending', 'ready', 'queued', 'running', 'waiting') ORDER BY position LIMIT 10
""")


def describe_open(conn: Connection, run_id: str) -> str:
    """The first open steps, in words."""
    return ", ".join(f"{row.name} is {row.status}" for row in conn.execute(_OPEN, {"id": run_id})) or "no step is open"


_EARLIER = text("""
SELECT id, position, name, function, status, edge_truth FROM workflow_run_steps
WHERE run_id = :run_id AND position < :graph ORDER BY position
""")


def load_earlier(conn: Connection, run_id: str, graph: int) -> Sequence[Row[Any]]:
    """How the steps of the `graph` first positions stand, without their values."""
    return conn.execute(_EARLIER, {"run_id": run_id, "graph": graph}).all()
