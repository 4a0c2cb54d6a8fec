"""Stop a run that is to end: after a failure under drain, cancel or abort, at its deadline, or at a person's word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.cascade import StepRow
from orchestrator.domain.definition import OnError
from orchestrator.domain.graph import Plan
from orchestrator.domain.recount import recount
from orchestrator.domain.states import Reason, RunStatus, StepStatus
from orchestrator.services.advance import advance
from orchestrator.services.close import close_run
from orchestrator.services.engine import Engine
from orchestrator.services.revoke import revoke_called
from orchestrator.services.scope import RunScope
from orchestrator.services.unhandled import unhandled
from orchestrator.store import events, run_transition, runs, steps, transition
from orchestrator.store.runs import RunFacts


def apply_halt(engine: Engine, run_id: str) -> frozenset[str]:
    """Carry out the halt noted in `workflow_runs.halting`; nothing when it is carried out already.

    A transaction of its own, because it locks every step in order (docs/adr/0003). Who noted the halt calls
    this after the commit; what a crash leaves, the coordinator carries out. Returns queues to dispatch.
    """
    with engine.db.transaction() as conn:
        facts = runs.load_run(conn, run_id)
        if facts.halting is None:
            return frozenset()
        scope = RunScope(engine, conn, engine.plans.get(conn, facts.revision_id), run_id)
        rows = steps.lock_all_steps(conn, run_id, len(scope.plan.steps))
        facts = runs.load_run(conn, run_id)
        if facts.halting is None:  # someone else carried it out while this waited for the locks
            return frozenset()
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
    revoke_called(engine, scope.plan, run_id)
    return closing.queues


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


def stop_steps(
    conn: Connection,
    plan: Plan,
    run_id: str,
    rows: dict[int, StepRow],
    reason: Reason,
    *,
    running: bool,
    waiting: bool = True,
    handlers: bool = False,
) -> None:
    """Cancel what has not started, what waits without a worker, and what runs; `rows` are the run's, locked.

    Lifecycle handlers and compensations are left, unless they are asked for. Dependants' tallies are counted on.
    """
    limit = plan.extent if handlers else len(plan.steps)
    stopped = transition.cancel_unstarted(conn, run_id, reason, limit, waiting=waiting)
    if running:
        stopped += transition.cancel_running(conn, run_id, reason, limit)
    statuses = {position: row.status for position, row in rows.items()}
    statuses |= dict.fromkeys(stopped, StepStatus.CANCELED)
    steps.set_tallies(conn, run_id, recount(plan, statuses, {p: row.edge_truth for p, row in rows.items()}), rows)
