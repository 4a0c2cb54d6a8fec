"""Answer an approval: a person's yes or no, with what they filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.definition import Approval
from orchestrator.domain.events import approval_event, decision, waits
from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.services.engine import Engine
from orchestrator.services.signal import Signaled, send_signal
from orchestrator.store import runs


def decide(
    engine: Engine,
    run_id: str,
    step: str,
    approved: bool,
    fields: Mapping[str, Any] | None = None,
    *,
    comment: str | None = None,
    actor: str = "cli",
) -> Signaled:
    """Approve or reject; a decision that comes before the question is kept for it.

    Raises `NotFound`, `InvalidInput` for fields that do not fit, and `Conflict` when it was decided before.
    """
    payload = decision(_approval(engine, run_id, step), approved, fields or {}, actor, comment)
    act = "approve" if approved else "reject"
    return send_signal(engine, run_id, approval_event(step), payload, actor, act=act, once=True)


def _approval(engine: Engine, run_id: str, step: str) -> Approval:
    with engine.db.transaction() as conn:
        plan = engine.plans.get(conn, runs.load_run(conn, run_id).revision_id)
    asked = {here.name: here.step.wait_for.approval for here in waits(plan) if here.step.wait_for is not None}
    found = asked.get(step)
    if found is None:
        known = [name for name, approval in asked.items() if approval is not None]
        raise NotFound(f"the run has no approval '{step}'{did_you_mean(step, known)}")
    return found
