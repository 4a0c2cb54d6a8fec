"""Pause or resume one run, without its children (services/pass_down.py)."""

from __future__ import annotations

from orchestrator.domain.states import RunStatus
from orchestrator.errors import Conflict
from orchestrator.services.advance import advance
from orchestrator.services.close import close_run
from orchestrator.services.engine import Engine
from orchestrator.services.scope import RunScope
from orchestrator.services.tell import tell_parent
from orchestrator.store import events, run_transition, runs, steps, transition


def pause_one(
    engine: Engine,
    run_id: str,
    *,
    reason: str | None,
    actor: str,
    bulk_id: str | None = None,
    with_parent: bool = False,
) -> None:
    """Pause the run; raises as `pause` does. `with_parent`: until its parent is resumed."""
    with engine.db.transaction() as conn:
        facts = runs.load_run(conn, run_id)
        if not run_transition.move_run(
            conn, run_id, RunStatus.PAUSED, {RunStatus.RUNNING}, reason, with_parent=with_parent
        ):
            raise Conflict(f"the run is {facts.status}: only a running run can be paused")
        events.act(conn, run_id, "run.paused", "pause", actor, reason, bulk_id=bulk_id)
    # After the commit, because step rows are locked before a run's: a claim in between finds the run paused.
    with engine.db.transaction() as conn:
        transition.unqueue_paused(conn, run_id)


def resume_one(
    engine: Engine, run_id: str, *, reason: str | None, actor: str, bulk_id: str | None = None
) -> frozenset[str]:
    """Resume the run; the queues to dispatch. Raises as `resume` does."""
    with engine.db.transaction() as conn:
        facts = runs.load_run(conn, run_id)
        transition.unqueue_paused(conn, run_id)  # what was being sent as the run was paused
        if not run_transition.move_run(conn, run_id, RunStatus.RUNNING, {RunStatus.PAUSED}):
            raise Conflict(f"the run is {facts.status}: only a paused run can be resumed")
        events.act(conn, run_id, "run.resumed", "resume", actor, reason, bulk_id=bulk_id)
        scope = RunScope(engine, conn, engine.plans.get(conn, facts.revision_id), run_id)
        closed = close_run(conn, scope, advance)
        queues = closed.queues | steps.ready_queues(conn, run_id)
    return queues | (tell_parent(engine, run_id) if closed.child_over else frozenset())
