"""Let runs begin that waited for their turn under `max_active_runs`."""

from __future__ import annotations

from sqlalchemy import Connection

from orchestrator.domain.graph import Plan
from orchestrator.domain.rules import Decision, Tally, decide
from orchestrator.domain.states import StepStatus
from orchestrator.services.advanced import Advance, Close
from orchestrator.services.engine import Engine
from orchestrator.services.scope import RunScope
from orchestrator.store import active, events, run_transition, steps


def admit(
    engine: Engine, conn: Connection, workflow_id: str, key: str, advance: Advance, close: Close
) -> frozenset[str]:
    """Start pending runs while fewer than they allow are active; the queues of their first steps.

    In the transaction that ended a run, or in the coordinator's. Whoever counts holds the limit's lock; it is taken
    after the rows of the run that ended, and no one holds it who waits for these (docs/adr/0003).
    """
    active.lock_limit(conn, workflow_id, key)
    queues: frozenset[str] = frozenset()
    while (waiting := active.next_pending(conn, workflow_id, key)) is not None:
        plan = engine.plans.get(conn, waiting.revision_id)
        if active.count_active(conn, workflow_id, key) >= (plan.definition.max_active_runs or 1):
            break
        queues |= _begin(engine, conn, plan, waiting.id, advance, close)
    return queues


def _begin(engine: Engine, conn: Connection, plan: Plan, run_id: str, advance: Advance, close: Close) -> frozenset[str]:
    rows = steps.lock_all_steps(conn, run_id, plan.end)
    if not run_transition.admit_run(conn, run_id, plan.definition.timeout):
        return frozenset()
    events.record(conn, run_id, "run.admitted")
    # Behind steps that a rerun has kept, or an operator has marked, others may start.
    told = {position for position, row in rows.items() if row.status is StepStatus.PENDING and row.tally.done}
    scope = RunScope(engine, conn, plan, run_id)
    scope.admitting = True
    advance(conn, scope, [], sorted(told.union(first_steps(plan))))
    close(conn, scope, advance)  # all its steps may have ended before its turn
    return frozenset(steps.ready_queues(conn, run_id))


def first_steps(plan: Plan) -> list[int]:
    """The steps that start without waiting for any other."""
    return [here.position for here in plan.steps if decide(here.step, _untouched(len(here.sources))) is Decision.RUN]


def _untouched(sources: int) -> Tally:
    return Tally(total=sources, remaining=sources)
