"""Pools: how many slots each has, and who takes them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

from orchestrator.store.tables import HOLDS_SLOTS, WAITS_FOR_SLOTS

_SIZE = text("SELECT slots FROM pools WHERE name = :name")


def find_size(conn: Connection, name: str) -> int | None:
    """How many slots the pool has; None when there is no such pool."""
    return conn.execute(_SIZE, {"name": name}).scalar()


_SET = text("""
INSERT INTO pools (name, slots, description) VALUES (:name, :slots, :description)
ON CONFLICT (name) DO UPDATE SET slots = excluded.slots, changed_at = orchestrator_now(),
  description = coalesce(excluded.description, pools.description)
RETURNING xmax = 0 AS made
""")


def set_pool(conn: Connection, name: str, slots: int, description: str | None) -> bool:
    """Give the pool so many slots; True when it is new. What holds slots keeps them."""
    return bool(conn.execute(_SET, {"name": name, "slots": slots, "description": description}).scalar_one())


_REMOVE = text("DELETE FROM pools WHERE name = :name RETURNING name")


def remove_pool(conn: Connection, name: str) -> bool:
    """Remove it; False when there is no such pool."""
    return conn.execute(_REMOVE, {"name": name}).first() is not None


_LOCK = text("SELECT name FROM pools WHERE name = :name FOR UPDATE")
_USED = text(f"""
SELECT (SELECT count(*) FROM workflow_run_steps WHERE pool = :name AND {HOLDS_SLOTS}) AS holders,
  EXISTS (SELECT 1 FROM workflow_run_steps WHERE pool = :name AND {WAITS_FOR_SLOTS}) AS awaited
""")


@dataclass(frozen=True, slots=True)
class PoolUse:
    """How many steps hold slots of a pool, and whether any waits for one."""

    holders: int
    awaited: bool


def lock_use(conn: Connection, name: str) -> PoolUse:
    """How the pool is used, while nobody can be given a slot."""
    conn.execute(_LOCK, {"name": name})
    row = conn.execute(_USED, {"name": name}).one()
    return PoolUse(row.holders, row.awaited)


_NEXT = text(f"""
SELECT queue FROM workflow_run_steps WHERE pool = :name AND {WAITS_FOR_SLOTS} AND held_at IS NULL
ORDER BY priority DESC, app_id, ready_at, id LIMIT 1
""")


def next_queue(conn: Connection, name: str) -> frozenset[str]:
    """The queue of the step that is next in the pool, if one waits: dispatching it fills the pool."""
    return frozenset(conn.execute(_NEXT, {"name": name}).scalars())
