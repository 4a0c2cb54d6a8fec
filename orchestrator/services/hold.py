"""Hold a step: it does not start, or start again, until it is released."""

from __future__ import annotations

from sqlalchemy import Connection

from orchestrator.domain.graph import Plan
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict
from orchestrator.services.advance import advance
from orchestrator.services.advanced import Advanced
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.halt import follow_up
from orchestrator.services.scope import RunScope
from orchestrator.store import events, operator_transition, runs
from orchestrator.store.operator_transition import HeldStep
from orchestrator.store.reads.steps import unknown_step


def hold(engine: Engine, run_id: str, name: str, *, reason: str | None = None, actor: str = "cli") -> StepStatus:
    """Hold an open step; its status then. Raises `NotFound`, or `Conflict` when it has ended or is held.

    One that is queued is taken back; one that runs goes on, but is not tried again. All else reaches it as before: a
    cancel, its deadlines, an operator's mark.
    """
    with engine.db.transaction() as conn:
        step = _lock(conn, engine.plans.get(conn, runs.load_run(conn, run_id).revision_id), run_id, name)
        if step.status.terminal:
            raise Conflict(f"step '{name}' is {step.status}: only a step that has not ended can be held")
        if step.by is not None:
            raise Conflict(f"step '{name}' is held already, by {step.by}")
        operator_transition.hold_step(conn, step.id, actor, reason)
        events.act(conn, run_id, "step.held", "hold", actor, reason, step_id=step.id, step=name)
    return StepStatus.READY if step.status is StepStatus.QUEUED else step.status


def release(engine: Engine, run_id: str, name: str, *, reason: str | None = None, actor: str = "cli") -> StepStatus:
    """Let a held step go on; its status as it was held. Raises `NotFound`, or `Conflict` when it is not held."""
    with engine.db.transaction() as conn:
        plan = engine.plans.get(conn, runs.load_run(conn, run_id).revision_id)
        step = _lock(conn, plan, run_id, name)
        if step.by is None:
            raise Conflict(f"step '{name}' is not held")
        operator_transition.release_step(conn, step.id)
        events.act(conn, run_id, "step.released", "release", actor, reason, step_id=step.id, step=name)
        advanced = _go_on(conn, RunScope(engine, conn, plan, run_id), step)
    dispatch(engine, follow_up(engine, run_id, advanced))
    return step.status


def _lock(conn: Connection, plan: Plan, run_id: str, name: str) -> HeldStep:
    step = operator_transition.lock_named(conn, run_id, name)
    if step is not None:
        return step
    if name in plan.handlers:
        raise Conflict(f"the handler '{name}' has not started: it can be held from then on")
    raise unknown_step(conn, run_id, name)


def _go_on(conn: Connection, scope: RunScope, step: HeldStep) -> Advanced:
    """A ready step may be sent; a pending one may have been kept from starting at its turn."""
    if step.status is StepStatus.PENDING and scope.plan.is_begun(step.position):
        return Advanced()
    if step.status is StepStatus.PENDING:
        return advance(conn, scope, [], [step.position])
    ready = step.status is StepStatus.READY and step.queue is not None
    return Advanced(((step.position, step.queue or ""),)) if ready else Advanced()
