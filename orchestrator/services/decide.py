"""Answer an approval: a person's yes or no, with what they filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.definition import Approval
from orchestrator.domain.event_names import approval_event
from orchestrator.domain.events import decision, waits
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.items import SPAN
from orchestrator.domain.near import did_you_mean
from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.services.engine import Engine
from orchestrator.services.signal import Signaled, send_signal
from orchestrator.store import item_rows, runs


def decide(
    engine: Engine,
    run_id: str,
    step: str,
    approved: bool,
    fields: Mapping[str, Any] | None = None,
    *,
    item: int | None = None,
    comment: str | None = None,
    actor: str = "cli",
) -> Signaled:
    """Approve or reject; a decision that comes before the question is kept for it.

    `item`: whose question it is, by index, where a step asks for each item. Raises `NotFound`, `InvalidInput` for
    fields that do not fit, and `Conflict` when it was decided before.
    """
    payload = decision(_approval(engine, run_id, step, item), approved, fields or {}, actor, comment)
    act = "approve" if approved else "reject"
    return send_signal(engine, run_id, approval_event(step, item), payload, actor, act=act, once=True)


def _approval(engine: Engine, run_id: str, step: str, item: int | None) -> Approval:
    with engine.db.transaction() as conn:
        plan = engine.plans.get(conn, runs.load_run(conn, run_id).revision_id)
        here = next((here for here in waits(plan) if here.name == step), None)
        total = None if here is None else item_rows.load_total(conn, run_id, here.position)
    found = here.step.wait_for.approval if here is not None and here.step.wait_for is not None else None
    if here is None or found is None:
        raise NotFound(f"the run has no approval '{step}'{did_you_mean(step, _known(plan))}")
    _check_item(here, item, total)
    return found


def _known(plan: Plan) -> list[str]:
    return [here.name for here in waits(plan) if here.step.wait_for and here.step.wait_for.approval is not None]


def _check_item(here: PlanStep, item: int | None, total: int | None) -> None:
    """`total`: how many items the step has; None: nobody knows yet."""
    if here.step.with_items is None:
        if item is not None:
            raise NotFound(f"step '{here.name}' has no items: it asks once")
    elif item is None:
        told = f"step '{here.name}' asks for each of its items: which one is decided?"
        raise InvalidInput([Problem("item", told)], "the decision is invalid")
    elif not 0 <= item < (SPAN if total is None else total):
        raise NotFound(f"step '{here.name}' has no item {item}")
