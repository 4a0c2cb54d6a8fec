"""Pools with how much of them is taken, and by whom."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, TextClause, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.store.reads.page import Page, id_cursor, iso, pack_cursor, page_of, unpack_cursor
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
_PAGE = text(f"{_LIST} WHERE p.name > :after ORDER BY p.name LIMIT :limit")
_HOLDERS = text(f"""
SELECT s.run_id, s.name AS step, s.status, s.slots, coalesce(w.host || ':' || w.pid, s.worker_id) AS worker,
  coalesce(s.started_at, s.queued_at) AS since
FROM (SELECT * FROM workflow_run_steps WHERE pool = :name AND {HOLDS_SLOTS}) s LEFT JOIN workers w ON w.id = s.worker_id
ORDER BY since, s.id LIMIT :limit
""")

_USES = """
SELECT s.id, s.run_id, s.name AS step, s.status, s.slots, coalesce(w.host || ':' || w.pid, s.worker_id) AS worker,
  {since} AS since
FROM (SELECT * FROM workflow_run_steps WHERE pool = :name AND {which}) s LEFT JOIN workers w ON w.id = s.worker_id
WHERE (CAST(:after AS uuid) IS NULL OR s.id > :after)
  AND (CAST(:app AS text) IS NULL OR s.app_id = (SELECT a.id FROM apps a WHERE a.name = :app))
ORDER BY s.id LIMIT :limit
"""
_PAGE_HOLDERS = text(_USES.format(since="coalesce(s.started_at, s.queued_at)", which=HOLDS_SLOTS))
_PAGE_WAITERS = text(_USES.format(since="s.ready_at", which=WAITS_FOR_SLOTS))


def list_pools(conn: Connection) -> list[dict[str, Any]]:
    """Every pool by name; `waiting` counts to 10,000."""
    return [_shape(row) for row in conn.execute(_ALL)]


def page_pools(conn: Connection, after: str | None = None, limit: int = 100) -> Page:
    """A page of pools by name."""
    (last,) = unpack_cursor(after, 1) if after is not None else ("",)
    rows = conn.execute(_PAGE, {"after": last, "limit": limit + 1}).all()
    return page_of(rows, limit, _shape, lambda row: pack_cursor(row.name))


def page_holders(
    conn: Connection, name: str, after: str | None = None, limit: int = 100, *, app: str | None = None
) -> Page:
    """A page of the steps that hold the pool's slots, oldest step first: all, or those of one app by its exact name."""
    return _page_uses(conn, _PAGE_HOLDERS, name, after, limit, app)


def page_waiters(
    conn: Connection, name: str, after: str | None = None, limit: int = 100, *, app: str | None = None
) -> Page:
    """The same of the steps that wait for slots."""
    return _page_uses(conn, _PAGE_WAITERS, name, after, limit, app)


def _page_uses(
    conn: Connection, statement: TextClause, name: str, after: str | None, limit: int, app: str | None
) -> Page:
    values = {"name": name, "after": id_cursor(after), "limit": limit + 1, "app": app}
    return page_of(conn.execute(statement, values).all(), limit, _use, lambda row: str(row.id))


def _use(row: Row[Any]) -> dict[str, Any]:
    shown = {name: value for name, value in row._mapping.items() if name != "id"}
    return shown | {"since": iso(row.since)}


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
