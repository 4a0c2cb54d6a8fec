"""End an attempt in the place of its process, which died."""

from __future__ import annotations

from orchestrator.domain.outcome import Outcome
from orchestrator.services.claim import claimed_from
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.settle import settle
from orchestrator.store import held


def end_for(engine: Engine, step_id: str, token: str, outcome: Outcome) -> bool:
    """Settle the attempt, and dispatch what follows; False when its claim no longer holds.

    Without waiting for its lease to run out: only for who knows that nothing runs it any more.
    """
    with engine.db.transaction() as conn:
        row = held.find_held(conn, step_id, token)
    if row is None:
        return False
    settled = settle(engine, claimed_from(row), outcome)
    if not settled.stale:
        engine.tally.count("reclaimed", "process")
    dispatch(engine, settled.queues)
    return not settled.stale
