"""Cancel one run, without its children (services/pass_down.py)."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.domain.cascade import StepRow
from orchestrator.domain.graph import Plan
from orchestrator.domain.states import Reason, RunStatus
from orchestrator.errors import Conflict
from orchestrator.services.advance import advance
from orchestrator.services.close import close_run
from orchestrator.services.engine import Engine
from orchestrator.services.freed import freed_queues
from orchestrator.services.revoke import revoke_called
from orchestrator.services.scope import RunScope
from orchestrator.services.stop import stop_steps
from orchestrator.services.tell import tell_parent
from orchestrator.store import events, run_transition, runs, steps

_CANCELABLE = {RunStatus.PENDING, RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.CANCELING}


def cancel_one(
    engine: Engine, run_id: str, *, reason: str | None, force: bool, actor: str, bulk_id: str | None = None
) -> frozenset[str]:
    """Cancel the run; the queues to dispatch. Raises as `cancel` does."""
    with engine.db.transaction() as conn:
        facts = runs.load_run(conn, run_id)
        plan = engine.plans.get(conn, facts.revision_id)
        rows = steps.lock_all_steps(conn, run_id, plan.end)
        facts = runs.load_run(conn, run_id)  # as it is under the locks
        if facts.status.terminal:
            raise Conflict(f"the run is {facts.status}: it cannot be canceled")
        closing = facts.final_status is not None and _steps_are_over(plan, rows)
        if closing and not force:
            raise Conflict(
                f"the run is ending as {facts.final_status}, its handlers or compensations are under way:"
                " only force cuts them off"
            )
        stop_steps(conn, plan, run_id, rows, Reason.CANCELED, running=force, children=force, handlers=closing)
        steps.request_cancel(conn, run_id, plan.end)
        if not closing and not run_transition.move_run(conn, run_id, RunStatus.CANCELING, _CANCELABLE, reason):
            raise Conflict(f"the run is {facts.status}: it cannot be canceled")
        events.act(conn, run_id, "run.cancel", "cancel", actor, reason, bulk_id=bulk_id, force=force)
        closed = close_run(conn, RunScope(engine, conn, plan, run_id), advance)
        queues = closed.queues | freed_queues(conn, plan)
    revoke_called(engine, plan, run_id)
    return queues | (tell_parent(engine, run_id) if closed.child_over else frozenset())


def _steps_are_over(plan: Plan, rows: Mapping[int, StepRow]) -> bool:
    """What still runs are handlers and compensations."""
    return all(row.status.terminal for position, row in rows.items() if position < plan.end)
