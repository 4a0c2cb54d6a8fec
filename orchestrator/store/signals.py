"""Events and decisions sent to a run, and the steps that take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.items import FIRST_ITEM
from orchestrator.domain.states import STEP_OPEN
from orchestrator.store.tables import one_of

# Also what has not begun to wait: a worker may take it, and look for the event, before this transaction has kept it.
_LOCK = text(f"""
SELECT id, position, status = 'waiting' AND wait ->> 'event' = :name AND wait ->> 'signal' IS NULL
  AND (wake_at IS NULL OR wake_at > orchestrator_now()) AS waits
FROM workflow_run_steps
WHERE run_id = :run_id AND (position = ANY(:positions) AND status IN {one_of(STEP_OPEN)} OR position = ANY(:fans))
ORDER BY position FOR UPDATE
""")
_OPENED = text(f"""
SELECT EXISTS (SELECT FROM workflow_run_steps WHERE run_id = :run_id AND position = ANY(:positions)
  AND position <> ALL(:locked) AND status IN {one_of(STEP_OPEN)})
""")
# Whoever suspends, stops or ends an item holds its step's row, as the caller does. What somebody else holds is being
# woken, because its time is over.
_ITEM = text("""
SELECT id, position FROM workflow_run_steps
WHERE run_id = :run_id AND status = 'waiting' AND wait ->> 'event' = :name AND wait ->> 'signal' IS NULL
  AND item_of = ANY(:fans) AND (wake_at IS NULL OR wake_at > orchestrator_now())
ORDER BY position LIMIT 1 FOR UPDATE SKIP LOCKED
""")


def lock_waiting(
    conn: Connection, run_id: str, positions: Sequence[int], fans: Sequence[int], name: str
) -> tuple[Row[Any] | None, list[int]]:
    """The first that waits for the event `name`, which has not come: of the steps at `positions`, else of the items of
    the steps at `fans`.

    All of these steps that are open are locked, so that what is being suspended, or is about to be, either sees the
    signal or is seen by it; their positions come along.
    """
    asked = {"run_id": run_id, "name": name, "fans": list(fans)}
    rows = conn.execute(_LOCK, asked | {"positions": list(positions)}).all()
    found = next((row for row in rows if row.waits), None)
    if found is None and fans:
        found = conn.execute(_ITEM, asked).first()
    return found, [row.position for row in rows]


def opened_since(conn: Connection, run_id: str, positions: Sequence[int], locked: Sequence[int]) -> bool:
    """Whether steps at `positions` are open that were not when those at `locked` were locked: handlers that were begun,
    steps that an operator opened again. None can be from here on, for the caller holds the run's row."""
    asked = {"run_id": run_id, "positions": list(positions), "locked": list(locked)}
    return bool(conn.execute(_OPENED, asked).scalar_one())


_LOCK_DRIVER = text("SELECT FROM workflow_run_steps WHERE run_id = :run_id AND position = 0 FOR UPDATE")
_BEGUN = text(f"""
SELECT position, item FROM workflow_run_steps WHERE run_id = :run_id AND position > 0 AND position < {FIRST_ITEM}
  AND status IN {one_of(STEP_OPEN)} AND item -> 'wait_for' ->> 'event' = :name
ORDER BY position
""")


def lock_begun(conn: Connection, run_id: str, name: str) -> Sequence[Row[Any]]:
    """The open steps that the run's function has begun to wait for this event; it begins no other meanwhile."""
    conn.execute(_LOCK_DRIVER, {"run_id": run_id})
    return conn.execute(_BEGUN, {"run_id": run_id, "name": name}).all()


_INSERT = text("""
INSERT INTO workflow_signals (run_id, name, payload, actor) VALUES (:run_id, :name, CAST(:payload AS json), :actor)
RETURNING id
""")


def insert_signal(conn: Connection, run_id: str, name: str, payload_json: str, actor: str) -> int:
    """Keep a signal; its number."""
    values = {"run_id": run_id, "name": name, "payload": payload_json, "actor": actor}
    return int(conn.execute(_INSERT, values).scalar_one())


_TAKE_FIRST = text("""
UPDATE workflow_signals SET step_id = :step_id WHERE id = (
  SELECT id FROM workflow_signals WHERE run_id = :run_id AND name = :name AND step_id IS NULL
  ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING id
""")
_TAKE = text("UPDATE workflow_signals SET step_id = :step_id WHERE id = :id")
_TOLD = text("""
UPDATE workflow_run_steps
SET wait = CAST(CAST(wait AS jsonb) || jsonb_build_object('signal', CAST(:id AS bigint)) AS json)
WHERE id = :step_id
""")


def take_first(conn: Connection, run_id: str, step_id: str, name: str) -> bool:
    """Give the step the first signal of this name that no step has, if there is one."""
    id = conn.execute(_TAKE_FIRST, {"run_id": run_id, "step_id": step_id, "name": name}).scalar()
    if id is None:
        return False
    conn.execute(_TOLD, {"id": id, "step_id": step_id})
    return True


def give(conn: Connection, signal_id: int, step_id: str) -> None:
    """Give this signal to the step, which is locked and waits for it."""
    conn.execute(_TAKE, {"id": signal_id, "step_id": step_id})
    conn.execute(_TOLD, {"id": signal_id, "step_id": step_id})


_LOAD = text("SELECT id, name, payload, actor, sent_at FROM workflow_signals WHERE id = :id")


def load_signal(conn: Connection, signal_id: int) -> Row[Any]:
    """A signal that was kept."""
    return conn.execute(_LOAD, {"id": signal_id}).one()


# What a step took that was opened again since counts no more: it asks anew.
_EARLIER = text("""
SELECT g.id, g.actor, g.sent_at FROM workflow_signals g LEFT JOIN workflow_run_steps s ON s.id = g.step_id
WHERE g.run_id = :run_id AND g.name = :name AND g.id < :id
  AND (g.step_id IS NULL OR s.finished_at IS NOT NULL OR s.wait ->> 'signal' = CAST(g.id AS text))
ORDER BY g.step_id IS NULL DESC, g.id DESC LIMIT 1
""")


def find_earlier(conn: Connection, run_id: str, name: str, signal_id: int) -> Row[Any] | None:
    """The signal of the same name that came before this one: one still kept, else the one taken last."""
    return conn.execute(_EARLIER, {"run_id": run_id, "name": name, "id": signal_id}).first()
