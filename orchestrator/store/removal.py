"""Runs that have ended are removed with all that is theirs.

A run goes with all runs below it, in one transaction, or stays as a whole. None of them is open, and nobody waits: a
run that somebody acts on is left, and so is one any of whose steps is locked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from orchestrator.store.blob_references import load_paths
from orchestrator.store.db import limit_lock_waits

# For what else may be locked, a table for one: shorter than it takes Postgres to look for a deadlock.
_LOCK_SECONDS = 0.2
_ROWS = 5_000  # of one statement
# Every row is found by an index, however small the tables were when their statistics were made.
_PLANNED = "; ".join(
    f"SET LOCAL {name} = off" for name in ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit")
)
_ENDED = "status IN ('canceled', 'failed', 'succeeded')"

# A run whose schedule has not seen its end stays until it has.
_ROOTS = text(f"""
SELECT r.id, extract(epoch FROM orchestrator_now() - r.finished_at)::float8 AS age
FROM workflow_runs r
WHERE r.id = ANY(CAST(:ids AS uuid[])) AND r.parent_run_id IS NULL AND r.{_ENDED}
  AND NOT EXISTS (SELECT FROM schedule_fires f WHERE f.run_id = r.id AND f.status = 'started')
ORDER BY r.id FOR UPDATE SKIP LOCKED
""")
_BELOW = text(f"""
SELECT r.id, r.root_id, r.{_ENDED} AS ended, extract(epoch FROM orchestrator_now() - r.finished_at)::float8 AS age
FROM workflow_runs r WHERE r.root_id = ANY(CAST(:ids AS uuid[])) AND r.id <> ALL(CAST(:ids AS uuid[]))
ORDER BY r.id FOR UPDATE NOWAIT
""")
# Everybody else locks the steps of a run before the run itself. Who has the run, as here, must not wait for a step: the
# other would wait for the run, and if this one's time to wait ended late, as that of a process which stands still, it
# would be the other whose act Postgres breaks off.
_STEPS_AT_ONCE = text("""
SELECT count(*) FROM (
  SELECT FROM workflow_run_steps WHERE run_id = ANY(CAST(:ids AS uuid[])) FOR UPDATE NOWAIT
) s
""")
# Open runs of elsewhere that may still ask how a child with a name of its own ended.
_AWAITED = text(f"""
SELECT DISTINCT c.root_id FROM workflow_children k JOIN workflow_runs c ON c.id = k.child_run_id
JOIN workflow_runs p ON p.id = k.parent_run_id
WHERE k.child_run_id = ANY(CAST(:ids AS uuid[])) AND NOT p.{_ENDED}
""")

_STEPS = text("""
WITH gone AS (
  DELETE FROM workflow_run_steps WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM workflow_run_steps WHERE run_id = ANY(CAST(:ids AS uuid[])) LIMIT :limit)) RETURNING id
), attempts AS (
  DELETE FROM workflow_step_attempts a USING gone g WHERE a.step_id = g.id
)
SELECT count(*) FROM gone
""")
_PART = """
WITH gone AS (
  DELETE FROM {table} WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM {table} WHERE {column} = ANY(CAST(:ids AS uuid[])) LIMIT :limit)) RETURNING 1
)
SELECT count(*) FROM gone
"""
# What is a run's, in the order in which it goes. A test compares this with the catalog: a table that is new and refers
# to runs or steps is to be named here, or in STAYS.
PARTS = (
    ("workflow_run_steps", "run_id"),  # with workflow_step_attempts
    ("workflow_journal", "run_id"),
    ("workflow_signals", "run_id"),
    ("step_logs", "run_id"),
    ("run_events", "run_id"),
    ("workflow_children", "parent_run_id"),
    ("workflow_children", "child_run_id"),
    ("workflow_runs", "id"),
)
# Columns that name a run or a step and outlive it: why.
STAYS = {
    "schedule_fires.run_id": "what was decided at a fire time: without it a backfill would start it once more",
    "schedules.last_run_id": "a schedule is no history",
    "alert_runs.run_id": "goes with its alert, for which a run that is gone is neither open nor failed",
    "hook_calls.run_id": "goes by its own time, which is minutes",
    "workflow_runs.rerun_of_id": "a run may outlive the one it repeats",
    "workflow_run_steps.reused_step_id": "the same",
}
_STATEMENTS = [
    _STEPS if table == "workflow_run_steps" else text(_PART.format(table=table, column=column))
    for table, column in PARTS
]


@dataclass(frozen=True, slots=True)
class Removed:
    """Which runs went that no other had started, how many went in all, and how many rows; `blobs`: paths of what they
    had put into the blob store."""

    roots: Sequence[str] = ()
    runs: int = 0
    rows: int = 0
    blobs: Collection[str] = ()


def remove_trees(conn: Connection, keep: Mapping[str, float], *, blobs: bool = False) -> Removed:
    """Remove these runs, by id, with what is below them, each if all of it ended so many seconds ago or earlier.

    One that is open, locked, started by another's step or awaited by one is left. Raises `Locked`: then nothing may
    be committed. `blobs`: also tell what they refer to, which is to be removed after the commit.
    """
    limit_lock_waits(conn, _LOCK_SECONDS)
    conn.exec_driver_sql(_PLANNED)
    roots = [str(row.id) for row in conn.execute(_ROOTS, {"ids": list(keep)}) if row.age >= keep[str(row.id)]]
    if not roots:
        return Removed()
    trees = _trees(conn, roots, keep)
    if not trees:
        return Removed()
    ids = [id for tree in trees.values() for id in tree]
    conn.execute(_STEPS_AT_ONCE, {"ids": ids})
    paths = load_paths(conn, ids) if blobs else ()
    return Removed(list(trees), len(ids), sum(_delete(conn, ids)), paths)


def _trees(conn: Connection, roots: Sequence[str], keep: Mapping[str, float]) -> dict[str, list[str]]:
    """The ids of each tree that may go, by its root's."""
    trees = {root: [root] for root in roots}
    staying: set[str] = set()
    for row in conn.execute(_BELOW, {"ids": list(roots)}):
        trees[str(row.root_id)].append(str(row.id))
        if not row.ended or row.age < keep[str(row.root_id)]:
            staying.add(str(row.root_id))
    ids = [id for tree in trees.values() for id in tree]
    staying.update(str(id) for id in conn.execute(_AWAITED, {"ids": ids}).scalars())
    return {root: tree for root, tree in trees.items() if root not in staying}


def _delete(conn: Connection, ids: Sequence[str]) -> Iterator[int]:
    for statement in _STATEMENTS:
        while gone := int(conn.execute(statement, {"ids": list(ids), "limit": _ROWS}).scalar_one()):
            yield gone
            if gone < _ROWS:
                break
