"""Tell the step that waits for a run of its end."""

from __future__ import annotations

from orchestrator.services.engine import Engine
from orchestrator.store import children, transition


def tell_parent(engine: Engine, run_id: str) -> frozenset[str]:
    """Wake the steps that wait for this run, which has ended; the queues to dispatch. Again, it does nothing.

    A transaction of its own after the one that ended the run (docs/adr/0017); what a crash leaves untold, the
    coordinator finds.
    """
    with engine.db.transaction() as conn:
        waiting = children.lock_parent_steps(conn, run_id)
        if not children.note_told(conn, run_id) or not waiting:
            return frozenset()
        return frozenset(transition.wake(conn, waiting))
