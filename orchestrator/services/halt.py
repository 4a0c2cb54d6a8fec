"""Stop a run that is to end: after a failure under drain, cancel or abort, at its deadline, or at a person's word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.definition import OnError
from orchestrator.domain.graph import Plan
from orchestrator.domain.states import Reason, RunStatus
from orchestrator.services.advance import advance
from orchestrator.services.advanced import Advanced
from orchestrator.services.after_commit import now_or_later
from orchestrator.services.close import close_run
from orchestrator.services.engine import Engine
from orchestrator.services.freed import freed_queues
from orchestrator.services.pass_down import pass_down
from orchestrator.services.revoke import revoke_called
from orchestrator.services.scope import RunScope
from orchestrator.services.stop import stop_steps
from orchestrator.services.tell import tell_parent
from orchestrator.services.unhandled import unhandled
from orchestrator.store import events, run_transition, runs, steps
from orchestrator.store.runs import RunFacts


def apply_halt(engine: Engine, run_id: str) -> frozenset[str]:
    """Carry out the halt noted in `workflow_runs.halting`; nothing when it is carried out already.

    A transaction of its own, because it locks every step in order (docs/adr/0003). Who noted the halt calls
    this after the commit; what a crash leaves, the coordinator carries out. Returns queues to dispatch.
    """
    closing = _apply(engine, run_id)
    if closing is None:
        return frozenset()
    return follow_up(engine, run_id, closing) | pass_down(engine, run_id)


def follow_up(engine: Engine, run_id: str, advanced: Advanced) -> frozenset[str]:
    """After the commit of an advance of the run: the queues to dispatch, once what is to be stopped is stopped and a
    parent is told."""
    queues = advanced.queues
    if advanced.halting:
        queues |= apply_halt(engine, run_id)
    if advanced.child_over:
        queues |= now_or_later(lambda: tell_parent(engine, run_id))
    return queues


def _apply(engine: Engine, run_id: str) -> Advanced | None:
    with engine.db.transaction() as conn:
        facts = runs.load_run(conn, run_id)
        if facts.halting is None:
            return None
        scope = RunScope(engine, conn, engine.plans.get(conn, facts.revision_id), run_id)
        rows = steps.lock_all_steps(conn, run_id, scope.plan.end)
        facts = runs.load_run(conn, run_id)
        if facts.halting is None:  # someone else carried it out while this waited for the locks
            return None
        reason = Reason(facts.halting)
        stop_steps(
            conn,
            scope.plan,
            run_id,
            rows,
            reason,
            running=reason is not Reason.DRAIN,
            waiting=reason is not Reason.DRAIN,
        )
        if reason is Reason.DRAIN:
            steps.forbid_retries(conn, run_id)
        elif facts.final_status is None:
            # A run that is over cannot stay paused: what is left of it is to end.
            run_transition.move_run(conn, run_id, RunStatus.RUNNING, {RunStatus.PAUSED})
            run_transition.decide_end(conn, run_id, RunStatus.FAILED, _halt_error(conn, scope.plan, facts, reason))
        runs.clear_halt(conn, run_id)
        events.record(conn, run_id, "run.halted", {"reason": reason})
        closing = close_run(conn, scope, advance)
        closing = replace(closing, others=closing.others | freed_queues(conn, scope.plan))
    revoke_called(engine, scope.plan, run_id)
    return closing


def _halt_error(conn: Connection, plan: Plan, facts: RunFacts, reason: Reason) -> dict[str, str | None]:
    if reason is Reason.DEADLINE:
        message = f"the run did not end within its timeout of {plan.definition.timeout:g} s"
        return {"type": "DeadlineExceeded", "message": message, "step": None}
    failed = _aborting(conn, plan, facts.id) if reason is Reason.ABORT else unhandled(conn, plan, facts.id)
    first = failed[0]
    return {"type": first.error["type"], "message": first.error["message"], "step": first.name}


def _aborting(conn: Connection, plan: Plan, run_id: str) -> Sequence[Row[Any]]:
    aborting = [step.position for step in plan.steps if step.step.on_error is OnError.ABORT]
    return steps.load_failed(conn, run_id, aborting)
