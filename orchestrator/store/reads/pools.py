"""Pools with how much of them is taken, and by whom."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.store.reads.page import iso
from orchestrator.store.tables import HOLDS_SLOTS, WAITS_FOR_SLOTS

# Those that wait are counted to a bound: a backlog may be long.
_MOST_COUNTED = 10_000
_LIST = f"""
SELECT p.name, p.slots, p.description, p.changed_at,
  (SELECT coalesce(sum(slots), 0) FROM workflow_run_steps WHERE pool = p.name AND {HOLDS_SLOTS}) AS taken,
  (SELECT count(*) FROM (SELECT 1 FROM workflow_run_steps WHERE pool = p.name AND {WAITS_FOR_SLOTS}
    LIMIT {_MOST_COUNTED}) w) AS waiting,
  (SELECT min(ready_at) FROM workflow_run_steps WHERE pool = p.name AND {WAITS_FOR_SLOTS}) AS oldest
FROM pools p
"""
_ALL = text(f"{_LIST} ORDER BY p.name")
_ONE = text(f"{_LIST} WHERE p.name = :name")
_HOLDERS = text(f"""
SELECT s.run_id, s.name AS step, s.status, s.slots, coalesce(w.host || ':' || w.pid, s.worker_id) AS worker,
  coalesce(s.started_at, s.queued_at) AS since
FROM (SELECT * FROM workflow_run_steps WHERE pool = :name AND {HOLDS_SLOTS}) s LEFT JOIN workers w ON w.id = s.worker_id
ORDER BY since, s.id LIMIT :limit
""")


def list_pools(conn: Connection) -> list[dict[str, Any]]:
    """Every pool by name; `waiting` counts to 10,000."""
    return [_shape(row) for row in conn.execute(_ALL)]


def get_pool(conn: Connection, name: str, limit: int = 100) -> dict[str, Any]:
    """One pool, with `holders`: the steps that hold its slots, longest first. Raises `NotFound` naming a near one."""
    row = conn.execute(_ONE, {"name": name}).first()
    if row is None:
        known = list(conn.execute(text("SELECT name FROM pools")).scalars())
        raise NotFound(f"there is no pool '{name}'{did_you_mean(name, known)}")
    holders = conn.execute(_HOLDERS, {"name": name, "limit": limit})
    return _shape(row) | {"holders": [{**held._mapping, "since": iso(held.since)} for held in holders]}


def _shape(row: Row[Any]) -> dict[str, Any]:
    return {
        "name": row.name,
        "slots": row.slots,
        "taken": row.taken,
        "waiting": row.waiting,
        "oldest": iso(row.oldest),
        "description": row.description,
        "changed_at": iso(row.changed_at),
    }
