"""Make, change and remove pools: named slots that steps of all runs share."""

from __future__ import annotations

from orchestrator.errors import Conflict, InvalidInput, NotFound, Problem
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.store import events, pools

MOST_SLOTS = 100_000


def set_pool(
    engine: Engine, name: str, slots: int, *, description: str | None = None, reason: str | None = None, actor: str
) -> bool:
    """Give the pool so many slots, 0 to 100,000; True when it is new. Raises `InvalidInput`.

    What holds slots keeps them. With 0 nothing of the pool starts.
    """
    if not 0 <= slots <= MOST_SLOTS:
        raise InvalidInput([Problem("slots", f"must be from 0 to {MOST_SLOTS}, not {slots}")], "the pool is invalid")
    if not name.strip() or len(name) > 255 or not name.isprintable():
        raise InvalidInput([Problem("name", "must be 1 to 255 printable characters")], "the pool is invalid")
    with engine.db.transaction() as conn:
        made = pools.set_pool(conn, name, slots, description)
        events.audit(conn, actor, "set_pool", "pool", name, reason, {"slots": slots})
        queues = pools.next_queue(conn, name)
    dispatch(engine, queues)
    return made


def remove_pool(engine: Engine, name: str, *, reason: str | None = None, actor: str) -> None:
    """Remove it; raises `NotFound`, and `Conflict` while steps hold its slots or wait for one."""
    with engine.db.transaction() as conn:
        use = pools.lock_use(conn, name)
        if use.holders or use.awaited:
            raise Conflict(f"steps hold slots of pool '{name}' or wait for one (orchestrator pools '{name}')")
        if not pools.remove_pool(conn, name):
            raise NotFound(f"there is no pool '{name}'")
        events.audit(conn, actor, "remove_pool", "pool", name, reason)
