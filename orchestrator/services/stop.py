"""Stop what is open of a run, its rows being locked."""

from __future__ import annotations

from sqlalchemy import Connection

from orchestrator.domain.cascade import StepRow
from orchestrator.domain.graph import Plan
from orchestrator.domain.recount import recount
from orchestrator.domain.states import Reason, StepStatus
from orchestrator.services.halt_items import halt_items
from orchestrator.store import begun_rows, item_rows, steps, transition


def stop_steps(
    conn: Connection,
    plan: Plan,
    run_id: str,
    rows: dict[int, StepRow],
    reason: Reason,
    *,
    running: bool,
    waiting: bool = True,
    children: bool = True,
    handlers: bool = False,
) -> None:
    """Cancel what has not started, what waits without a worker, and what runs; `rows` are the run's, locked.

    Without `children`, what waits for a sub-workflow comes to its end with it. Lifecycle handlers and
    compensations are left, unless they are asked for; items go with their steps. Dependants' tallies are counted on.
    """
    limit = plan.extent if handlers else plan.end
    without = halt_items(conn, plan, run_id, reason, running=running, waiting=waiting, children=children)
    stopped = [*without]
    stopped += transition.cancel_unstarted(conn, run_id, reason, limit, waiting=waiting, children=children)
    if running:
        stopped += transition.cancel_running(conn, run_id, reason, limit)
    if plan.fans:
        item_rows.recount(conn, run_id, stopped=running)
    if plan.code:
        begun_rows.recount(conn, run_id)
    statuses = {position: row.status for position, row in rows.items()}
    statuses |= dict.fromkeys(stopped, StepStatus.CANCELED)
    steps.set_tallies(conn, run_id, recount(plan, statuses, {p: row.edge_truth for p, row in rows.items()}), rows)
