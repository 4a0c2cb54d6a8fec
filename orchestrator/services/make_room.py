"""Cancel the run that is active longest for one that waits for its turn, where the workflow asks for it."""

from __future__ import annotations

from sqlalchemy import Connection

from orchestrator.domain.definition import OnLimit
from orchestrator.errors import Conflict
from orchestrator.services.cancel import cancel
from orchestrator.services.engine import Engine
from orchestrator.store import active


def make_room(engine: Engine, workflow_id: str, key: str) -> None:
    """Cancel the oldest active run, if the next pending one wants that and none is on its way out for it."""
    with engine.db.transaction() as conn:
        oldest = _oldest(engine, conn, workflow_id, key)
    if oldest is not None:
        try:
            cancel(engine, oldest, reason="another run of the workflow takes its place (on_limit)", actor="engine")
        except Conflict:  # it is ending by itself
            return


def _oldest(engine: Engine, conn: Connection, workflow_id: str, key: str) -> str | None:
    waiting = active.next_pending(conn, workflow_id, key)
    if waiting is None or not active.needs_room(conn, workflow_id, key):
        return None
    definition = engine.plans.get(conn, waiting.revision_id).definition
    wanted = definition.on_limit is OnLimit.CANCEL_OLDEST
    return active.oldest_active(conn, workflow_id, key) if wanted else None
