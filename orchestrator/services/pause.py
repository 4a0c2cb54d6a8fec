"""Pause a run (running steps go on, nothing new starts, it does not end), and resume it."""

from __future__ import annotations

from orchestrator.domain.states import RunStatus
from orchestrator.errors import Conflict
from orchestrator.services.advance import advance
from orchestrator.services.close import close_run
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.scope import RunScope
from orchestrator.store import events, run_transition, runs, steps, transition


def pause(
    engine: Engine, run_id: str, *, reason: str | None = None, actor: str = "cli", bulk_id: str | None = None
) -> None:
    """Pause a running run; raises `NotFound` or `Conflict`. Queued steps go back to `ready`."""
    with engine.db.transaction() as conn:
        facts = runs.load_run(conn, run_id)
        if not run_transition.move_run(conn, run_id, RunStatus.PAUSED, {RunStatus.RUNNING}, reason):
            raise Conflict(f"the run is {facts.status}: only a running run can be paused")
        events.act(conn, run_id, "run.paused", "pause", actor, reason, bulk_id=bulk_id)
    # After the commit, because step rows are locked before a run's: a claim in between finds the run paused.
    with engine.db.transaction() as conn:
        transition.unqueue_paused(conn, run_id)


def resume(
    engine: Engine, run_id: str, *, reason: str | None = None, actor: str = "cli", bulk_id: str | None = None
) -> None:
    """Let a paused run go on; raises `NotFound` or `Conflict`."""
    with engine.db.transaction() as conn:
        facts = runs.load_run(conn, run_id)
        transition.unqueue_paused(conn, run_id)  # what was being sent as the run was paused
        if not run_transition.move_run(conn, run_id, RunStatus.RUNNING, {RunStatus.PAUSED}):
            raise Conflict(f"the run is {facts.status}: only a paused run can be resumed")
        events.act(conn, run_id, "run.resumed", "resume", actor, reason, bulk_id=bulk_id)
        scope = RunScope(engine, conn, engine.plans.get(conn, facts.revision_id), run_id)
        closed = close_run(conn, scope, advance)
        queues = steps.ready_queues(conn, run_id)
    dispatch(engine, queues | closed.queues)
