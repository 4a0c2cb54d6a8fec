"""Pause a run (running steps go on, nothing new starts, it does not end), and resume it."""

from __future__ import annotations

from orchestrator.errors import Conflict
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.pass_down import pass_down
from orchestrator.services.pause_one import pause_one, resume_one
from orchestrator.store import children


def pause(
    engine: Engine, run_id: str, *, reason: str | None = None, actor: str = "cli", bulk_id: str | None = None
) -> None:
    """Pause a running run, and with it the runs it has started; raises `NotFound` or `Conflict`.

    Queued steps go back to `ready`.
    """
    pause_one(engine, run_id, reason=reason, actor=actor, bulk_id=bulk_id)
    dispatch(engine, pass_down(engine, run_id))


def resume(
    engine: Engine, run_id: str, *, reason: str | None = None, actor: str = "cli", bulk_id: str | None = None
) -> None:
    """Let a paused run go on, and those that were paused with it.

    Raises `NotFound`, and `Conflict` when it is not paused or its parent is.
    """
    with engine.db.transaction() as conn:
        parent = children.paused_parent(conn, run_id)
    if parent is not None:
        raise Conflict(f"the run's parent is paused, and it with it: resume {parent}")
    queues = resume_one(engine, run_id, reason=reason, actor=actor, bulk_id=bulk_id)
    dispatch(engine, queues | pass_down(engine, run_id))
