"""The items of steps that are opened again: those that failed or were canceled begin anew, the others keep what they
gave. Where a source is opened too, the items may be others then, and where the step had succeeded, all it did has been
undone: they are forgotten."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.states import StepStatus
from orchestrator.store import item_rows, item_transition

_UNFINISHED = (StepStatus.FAILED, StepStatus.CANCELED)


def reopen_items(conn: Connection, plan: Plan, run_id: str, opened: Mapping[int, StepStatus]) -> int:
    """Open the items of the steps at these positions, which had these statuses, are locked and now open; how many."""
    fans = [plan.at(position) for position in sorted(set(plan.fans).intersection(opened))]
    count = 0
    for step in fans:
        first = plan.first_item(step.position)
        if opened[step.position] in _UNFINISHED and opened.keys().isdisjoint(step.sources):
            count += _again(conn, run_id, step, first)
        else:
            item_rows.forget_items(conn, run_id, step.position, first)
    return count


def _again(conn: Connection, run_id: str, step: PlanStep, first: int) -> int:
    asked, policy = step.step.with_items, step.step.retry
    free, most = asked.concurrency if asked else None, policy.max_attempts if policy else None
    count = item_transition.reopen_items(conn, run_id, step.position, first, free, most)
    item_rows.recount(conn, run_id, first, stopped=True)
    return count
