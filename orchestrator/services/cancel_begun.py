"""Cancel one step that a function has begun, as the function asks."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from orchestrator.services.claim import Claimed
from orchestrator.services.engine import Engine
from orchestrator.services.pass_down import pass_down
from orchestrator.store import item_rows, item_transition


def cancel_begun(conn: Connection, run_id: str, position: int) -> None:
    """A step that has not begun to do anything is canceled; one under way is asked to stop, and its child with it.

    The step of the function is locked by the caller.
    """
    if item_transition.cancel_begun(conn, run_id, position):
        item_rows.count_ended(conn, run_id, 0, 1, 0)


def follow_cancels(engine: Engine, claimed: Claimed, positions: Sequence[int]) -> frozenset[str]:
    """After the commit: the children of these follow."""
    return pass_down(engine, claimed.run_id) if positions else frozenset()
