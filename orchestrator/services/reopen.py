"""Open steps of a run again, so that they are decided anew."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection

from orchestrator.domain.cascade import StepRow
from orchestrator.domain.graph import Plan
from orchestrator.domain.recount import recount
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict
from orchestrator.services.reopen_items import reopen_items
from orchestrator.store import active, steps, transition
from orchestrator.store.runs import RunFacts
from orchestrator.store.undone import find_undone


def reopen(
    conn: Connection,
    plan: Plan,
    run_id: str,
    rows: Mapping[int, StepRow],
    opened: Collection[int],
    *,
    uncounted: Collection[int] = (),
) -> None:
    """Open the steps at these positions, each with its attempts anew; `rows` are the run's, locked.

    Every tally is counted afresh; the steps at `uncounted` count as open: their ends are still to be told.
    """
    transition.reopen_steps(conn, run_id, {p: _max_attempts(plan, p) for p in sorted(opened)})
    reopen_items(conn, plan, run_id, {position: rows[position].status for position in opened})
    statuses = {position: row.status for position, row in rows.items()}
    statuses |= dict.fromkeys([*opened, *uncounted], StepStatus.PENDING)
    steps.set_tallies(conn, run_id, recount(plan, statuses, {p: r.edge_truth for p, r in rows.items()}), rows)


def _max_attempts(plan: Plan, position: int) -> int | None:
    step = plan.at(position).step
    policy = None if step.with_items is not None else step.retry
    return policy.max_attempts if policy else None


def check_limit(conn: Connection, plan: Plan, facts: RunFacts) -> None:
    """A run that goes on is active again, and counts."""
    most = plan.definition.max_active_runs
    if most is None or facts.limit_key is None:
        return
    active.lock_limit(conn, facts.workflow_id, facts.limit_key)
    if active.count_active(conn, facts.workflow_id, facts.limit_key) >= most:
        raise Conflict(f"{most} runs are active already, which is the workflow's limit (max_active_runs)")


def undone(conn: Connection, plan: Plan, run_id: str) -> set[int]:
    """Steps whose work was undone by their compensation."""
    pairs = {place: undo.position for place, undo in plan.compensations.items()}
    return find_undone(conn, run_id, pairs) if pairs else set()
