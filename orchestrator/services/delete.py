"""Remove one run that has ended, with all that is its own."""

from __future__ import annotations

from sqlalchemy import Connection

from orchestrator.errors import Conflict
from orchestrator.services.clean_blobs import remove_paths
from orchestrator.services.engine import Engine
from orchestrator.store import events, runs
from orchestrator.store.removal import Removed, remove_trees


def delete(
    engine: Engine, run_id: str, *, reason: str | None = None, actor: str = "cli", bulk_id: str | None = None
) -> int:
    """Remove the run and the runs below it; how many those are together. The audit log keeps what people did to it.

    Raises `NotFound`, `Conflict` for a run that a step of another started, and for one that is open or has an open run
    below it or one that waits for it, and `Locked` when somebody is just acting on it.
    """
    with engine.db.transaction() as conn:
        facts = runs.load_run(conn, run_id)
        if facts.parent_run_id is not None:
            raise Conflict(f"it is part of run {facts.root_id}: it is removed with that")
        if not facts.status.terminal:
            raise Conflict(f"the run is {facts.status}: only one that has ended can be removed")
        removed = remove_trees(conn, {run_id: 0.0}, blobs=bool(engine.blobs))
        _check_and_note(conn, removed, run_id, reason, actor, bulk_id)
    remove_paths(engine.blobs, removed.blobs)
    return removed.runs


def _check_and_note(
    conn: Connection, removed: Removed, run_id: str, reason: str | None, actor: str, bulk_id: str | None
) -> None:
    if not removed.runs:
        raise Conflict("a run below it, or one that waits for it, is open; or its schedule has not seen its end yet")
    events.audit(conn, actor, "delete", "run", run_id, reason, {"runs": removed.runs}, bulk_id)
