"""The states of all steps of a run in few bytes, for a picture that lives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.store.item_columns import STEPS_ONLY
from orchestrator.store.reads.shown import SHOWN


@dataclass(frozen=True, slots=True)
class RunStates:
    """`states`: position and status of every step that there is. `items`: of a step with items, by position: how many
    there are, have ended and have failed. `children`: by position, the run the step started last and its status.
    `held`: positions of steps that an operator holds."""

    states: list[tuple[int, str]]
    items: dict[int, tuple[int, int, int]]
    children: dict[int, dict[str, Any]]
    held: list[int]


_STATES = text(f"""
SELECT position, status, held_at IS NOT NULL AS held, items_total, items_made - items_open AS ended, items_failed
FROM {SHOWN} s WHERE run_id = :run_id AND {STEPS_ONLY} ORDER BY position
""")
_CHILDREN = text("""
SELECT s.position, c.id, c.status FROM workflow_children k JOIN workflow_run_steps s ON s.id = k.parent_step_id
JOIN workflow_runs c ON c.id = k.child_run_id
WHERE k.parent_run_id = :run_id AND s.run_id = :run_id AND s.item_of IS NULL ORDER BY s.position, k.attempt
""")


def run_states(conn: Connection, run_id: str) -> RunStates:
    """How the run's steps stand; empty for a run that is not there."""
    rows = conn.execute(_STATES, {"run_id": run_id}).all()
    children = conn.execute(_CHILDREN, {"run_id": run_id}).all()
    return RunStates(
        [(row.position, row.status) for row in rows],
        {row.position: (row.items_total, row.ended, row.items_failed) for row in rows if row.items_total is not None},
        {row.position: {"id": str(row.id), "status": row.status} for row in children},
        [row.position for row in rows if row.held],
    )
