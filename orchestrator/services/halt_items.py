"""Cancel items of a run, their steps' rows being locked."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from orchestrator.domain.graph import Plan
from orchestrator.domain.states import Reason
from orchestrator.store import item_rows, item_transition


def cancel_items(
    conn: Connection,
    run_id: str,
    reason: Reason,
    first: int | None,
    *,
    running: bool = True,
    waiting: bool = True,
    children: bool = True,
) -> list[int]:
    """Those of one step (given its first one's position), or all; the positions of steps whose unstarted ones were."""
    item_rows.lock_open(conn, run_id, first)
    owners = item_transition.cancel_unstarted(conn, run_id, reason, first, waiting=waiting, children=children)
    if running:
        item_transition.cancel_running(conn, run_id, reason, first)
    return owners


def halt_items(
    conn: Connection, plan: Plan, run_id: str, reason: Reason, *, running: bool, waiting: bool, children: bool
) -> Sequence[int]:
    """Cancel all items of the run that have not started and, if asked for, those that run, wait, or wait for children.

    Its steps are locked by the caller.
    Where steps that wait are left, those with items which never come are canceled; their positions.
    """
    if not plan.fans:
        return ()
    stopped = cancel_items(conn, run_id, reason, None, running=running, waiting=waiting, children=children)
    if waiting:
        return ()
    unmade = item_rows.find_unmade(conn, run_id, plan.fans)
    return item_transition.cancel_owners(conn, run_id, [*stopped, *unmade], reason)
