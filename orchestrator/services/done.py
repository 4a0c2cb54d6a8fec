"""The graph of a run: of its document, or of what its function has done so far."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from orchestrator.domain.codes import DRIVER
from orchestrator.domain.done import Done, done_plan
from orchestrator.domain.graph import Plan
from orchestrator.domain.states import StepStatus
from orchestrator.store.reads import list_begun

MOST = 2_000  # of what a function did, as much is drawn


def done(conn: Connection, plan: Plan, run_id: str) -> Done:
    """`places` are the positions in the run of the steps of the plan."""
    if not plan.code:
        return Done(plan, tuple(range(len(plan.steps))))
    return done_plan(plan.definition, list_begun(conn, run_id, MOST), DRIVER)


def named_statuses(plan: Plan, found: Done, statuses: Mapping[int, StepStatus]) -> dict[str, StepStatus]:
    """The statuses by position as those by name, of what is drawn."""
    if not plan.code:
        return {plan.at(position).name: status for position, status in statuses.items()}
    names = zip(found.plan.steps, found.places, strict=True)
    return {here.name: statuses[place] for here, place in names if place in statuses}
