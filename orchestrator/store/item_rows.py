"""Items of a step: their rows, and the counts that the step's own row keeps of them (migrations, 0006).

The step's row is locked before any of its items' is (docs/adr/0003). Whoever makes an item, lets one begin or counts
its end holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.definition import Step
from orchestrator.domain.items import FIRST_ITEM, SPAN
from orchestrator.domain.outcome import ErrorInfo
from orchestrator.domain.states import STEP_OPEN
from orchestrator.ids import new_ids
from orchestrator.store.tables import one_of
from orchestrator.store.transition import as_text


@dataclass(frozen=True, slots=True)
class Fan:
    """A step with items: how many there are (None: not expanded yet), have rows, are open, failed.

    `stop`: why its items are to be stopped; `first` is the position of the first one.
    """

    id: str
    run_id: str
    position: int
    total: int | None
    made: int
    open: int
    failed: int
    first: int
    stop: str | None
    finished: bool
    cancel_requested: bool


_FAN = """
SELECT id, run_id, position, items_total AS total, items_made AS made, items_open AS open, items_failed AS failed,
  items_first AS first, items_stop AS stop, finished_at IS NOT NULL AS finished,
  cancel_requested_at IS NOT NULL AS cancel_requested
FROM workflow_run_steps
"""
_LOCK_CLAIMED = text(f"{_FAN} WHERE id = :id AND claim_token = :token AND status = 'running' FOR UPDATE")
_LOCK = text(f"{_FAN} WHERE run_id = :run_id AND position = :position FOR UPDATE")


def lock_claimed(conn: Connection, step_id: str, token: str) -> Fan | None:
    """A step with items in a worker's hands, locked; None when its claim no longer holds."""
    return _fan(conn.execute(_LOCK_CLAIMED, {"id": step_id, "token": token}).first())


def lock_owner(conn: Connection, run_id: str, position: int) -> Fan | None:
    """A step with items, locked."""
    return _fan(conn.execute(_LOCK, {"run_id": run_id, "position": position}).first())


def _fan(row: Row[Any] | None) -> Fan | None:
    return None if row is None else Fan(**row._mapping)


_EXPAND = text("""
UPDATE workflow_run_steps SET input = CAST(:input AS json), items_total = :total, items_made = 0, items_open = 0,
  items_failed = 0, items_free = :free, items_first = :first, items_next = NULL,
  items = CASE WHEN :total = 0 THEN CAST('{}' AS json) END
WHERE id = :id AND claim_token = :token AND status = 'running'
""")


def note_items(
    conn: Connection, step_id: str, token: str, items_json: str, total: int, first: int, free: int | None
) -> None:
    """Write down, as the step's input, what its items are; none has a row yet. Fenced."""
    values = {"id": step_id, "token": token, "input": items_json, "total": total, "first": first, "free": free}
    conn.execute(_EXPAND, values)


def load_items(conn: Connection, step_id: str) -> Sequence[Any]:
    """What was written down."""
    found: Sequence[Any] = conn.execute(
        text("SELECT input FROM workflow_run_steps WHERE id = :id"), {"id": step_id}
    ).scalar_one()
    return found


def load_total(conn: Connection, run_id: str, position: int) -> int | None:
    """How many items the step at a position has; None when it was not expanded."""
    total = text("SELECT items_total FROM workflow_run_steps WHERE run_id = :run_id AND position = :position")
    return conn.execute(total, {"run_id": run_id, "position": position}).scalar()


_MAKE = text("""
SELECT queue FROM orchestrator_make_items(:step, CAST(:ids AS uuid[]), :first, CAST(:items AS text[]), :function, :most,
  :pool, :slots)
""")


def make_items(conn: Connection, step_id: str, first: int, items: Sequence[Any], each: Step) -> set[str]:
    """Rows for the items from index `first` on, as many of them ready as may begin; the queues with ready ones.

    `each`: what an item attempts. The step's row is locked by the caller.
    """
    texts = [as_text(item) or "null" for item in items]
    most = each.retry.max_attempts if each.retry else None
    values = {"step": step_id, "ids": new_ids(len(items)), "first": first, "items": texts, "most": most}
    called = {"function": each.function, "pool": each.pool, "slots": each.slots}
    return set(conn.execute(_MAKE, values | called).scalars())


def begin_items(conn: Connection, run_id: str, owner: int, most: int) -> int:
    """pending -> ready for up to `most` items whose turn it is; how many. The step's row is locked by the caller."""
    begin = text("SELECT orchestrator_begin_items(:run_id, :owner, :most)")
    return int(conn.execute(begin, {"run_id": run_id, "owner": owner, "most": most}).scalar_one())


_ENDED = text("SELECT queue FROM orchestrator_items_ended(:run_id, :owner, :ended, :failed)")


def count_ended(conn: Connection, run_id: str, owner: int, ended: int, failed: int) -> set[str]:
    """So many items have ended: others begin, the last one wakes the step; the queues concerned.

    The step's row is locked by the caller.
    """
    values = {"run_id": run_id, "owner": owner, "ended": ended, "failed": failed}
    return set(conn.execute(_ENDED, values).scalars())


_STOP = text("UPDATE workflow_run_steps SET items_stop = :reason WHERE run_id = :run_id AND position = :owner")
_TO_STOP = text("""
SELECT run_id, position FROM workflow_run_steps WHERE items_stop IS NOT NULL ORDER BY run_id, position LIMIT :limit
""")


def note_stop(conn: Connection, run_id: str, owner: int, reason: str) -> None:
    """Note that the items of a step are to be stopped, and why."""
    conn.execute(_STOP, {"run_id": run_id, "owner": owner, "reason": reason})


def find_to_stop(conn: Connection, limit: int) -> Sequence[Row[Any]]:
    """Steps whose items are to be stopped and are not yet."""
    return conn.execute(_TO_STOP, {"limit": limit}).all()


_UNMADE = text("""
SELECT position FROM workflow_run_steps WHERE run_id = :run_id AND position = ANY(:fans)
  AND (status = 'running' AND items_total IS NULL
    OR items_made < items_total AND status IN ('ready', 'queued', 'running', 'waiting'))
""")


def find_unmade(conn: Connection, run_id: str, fans: Iterable[int]) -> Sequence[int]:
    """Of the steps with items at the positions `fans`: those that have begun, and not made all their items."""
    return conn.execute(_UNMADE, {"run_id": run_id, "fans": list(fans)}).scalars().all()


_LOCK_OPEN = text(f"""
SELECT count(*) FROM (SELECT FROM workflow_run_steps WHERE run_id = :run_id AND position >= :lowest
  AND position <= :highest AND status IN {one_of(STEP_OPEN)} ORDER BY position FOR UPDATE) AS locked
""")


def span(owner_first: int | None) -> dict[str, int]:
    """The positions of the items of one step (given its first one's), or of all."""
    if owner_first is None:
        return {"lowest": FIRST_ITEM, "highest": (1 << 31) - 1}
    return {"lowest": owner_first, "highest": owner_first + SPAN - 1}


def lock_open(conn: Connection, run_id: str, first: int | None = None) -> None:
    """Lock the open items of one step (given its first one's position), or of all of the run, in order."""
    conn.execute(_LOCK_OPEN, {"run_id": run_id, **span(first)})


# What a step that is about to end has counted of its items stays: they have all ended, whatever is asked meanwhile.
_RECOUNT = text(f"""
UPDATE workflow_run_steps s SET items_open = c.open, items_failed = c.failed,
  items_stop = CASE WHEN :stopped THEN NULL ELSE s.items_stop END,
  items = CASE WHEN s.finished_at IS NOT NULL THEN c.items WHEN :stopped THEN NULL ELSE s.items END
FROM (
  SELECT item_of, coalesce(sum(n) FILTER (WHERE status IN {one_of(STEP_OPEN)}), 0) AS open,
    coalesce(sum(n) FILTER (WHERE status = 'failed'), 0) AS failed, json_object_agg(status, n) AS items
  FROM (
    SELECT item_of, status, count(*) AS n FROM workflow_run_steps
    WHERE run_id = :run_id AND position >= :lowest AND position <= :highest GROUP BY item_of, status
  ) AS each GROUP BY item_of
) c
WHERE s.run_id = :run_id AND s.position = c.item_of
""")


def recount(conn: Connection, run_id: str, first: int | None = None, *, stopped: bool = False) -> None:
    """Count afresh the items of one step (given its first one's position), or of all, after many were changed.

    `stopped`: what was noted about stopping them is carried out.
    """
    conn.execute(_RECOUNT, {"run_id": run_id, "stopped": stopped, **span(first)})


_COUNT = text("""
SELECT status, count(*) AS items, sum(coalesce(octet_length(CAST(output AS text)), 4) + 1) AS bytes
FROM workflow_run_steps WHERE run_id = :run_id AND position >= :first AND position < :end GROUP BY status
""")
_KEEP = text("UPDATE workflow_run_steps SET items = CAST(:items AS json) WHERE id = :id")


def _made(fan: Fan) -> dict[str, Any]:
    """The rows of a step's items."""
    return {"run_id": fan.run_id, "first": fan.first, "end": fan.first + fan.made}


def count_items(conn: Connection, fan: Fan) -> tuple[dict[str, int], int]:
    """How many of its items ended as what, which is written down; how many bytes the list of their outputs takes."""
    rows = conn.execute(_COUNT, _made(fan)).all()
    counts = {row.status: row.items for row in rows}
    conn.execute(_KEEP, {"id": fan.id, "items": as_text(counts)})
    return counts, int(sum(row.bytes for row in rows)) + 2


def load_counts(conn: Connection, step_id: str) -> dict[str, int] | None:
    """How many of a step's items ended as what, as it was written down."""
    found: dict[str, int] | None = conn.execute(
        text("SELECT items FROM workflow_run_steps WHERE id = :id"), {"id": step_id}
    ).scalar_one()
    return found


_OUTPUTS = text("""
SELECT '[' || coalesce(string_agg(coalesce(CAST(output AS text), 'null'), ',' ORDER BY position), '') || ']'
FROM workflow_run_steps WHERE run_id = :run_id AND position >= :first AND position < :end
""")


def join_outputs(conn: Connection, fan: Fan) -> str:
    """The JSON text of the list of its items' outputs in their order; null for those without."""
    return str(conn.execute(_OUTPUTS, _made(fan)).scalar_one())


_SOME_OUTPUTS = text("""
SELECT coalesce(CAST(output AS text), 'null') FROM workflow_run_steps
WHERE run_id = :run_id AND position >= :first AND position < :end ORDER BY position
""")


def load_outputs(conn: Connection, fan: Fan, first: int, most: int) -> Sequence[str]:
    """The JSON texts of the outputs of up to `most` items from index `first` on."""
    values = {"run_id": fan.run_id, "first": fan.first + first, "end": fan.first + min(first + most, fan.made)}
    return conn.execute(_SOME_OUTPUTS, values).scalars().all()


_FIRST_ERROR = text("""
SELECT item_index, error FROM workflow_run_steps
WHERE run_id = :run_id AND position >= :first AND position < :end AND status = 'failed'
ORDER BY finished_at, position LIMIT 1
""")


def first_error(conn: Connection, fan: Fan) -> tuple[int, ErrorInfo] | None:
    """The item that failed first, by index, with its error."""
    row = conn.execute(_FIRST_ERROR, _made(fan)).first()
    return (row.item_index, ErrorInfo(row.error["type"], row.error["message"])) if row else None


_FORGET = text("""
WITH gone AS (DELETE FROM workflow_run_steps WHERE run_id = :run_id AND item_of = :owner AND position >= :lowest
  AND position <= :highest RETURNING id),
attempts AS (DELETE FROM workflow_step_attempts WHERE step_id IN (SELECT id FROM gone)),
lines AS (DELETE FROM step_logs WHERE run_id = :run_id AND step_id IN (SELECT id FROM gone))
UPDATE workflow_run_steps SET items_total = NULL, items_made = NULL, items_open = NULL, items_failed = NULL,
  items_free = NULL, items_first = NULL, items_next = NULL, items_stop = NULL, items = NULL, input = NULL
WHERE run_id = :run_id AND position = :owner
""")


def forget_items(conn: Connection, run_id: str, owner: int, first: int) -> None:
    """Delete a step's items with their history: it is to be expanded anew."""
    conn.execute(_FORGET, {"run_id": run_id, "owner": owner, **span(first)})


def filled(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts of items by status, the ends always among them."""
    return dict.fromkeys(("succeeded", "failed", "skipped", "canceled"), 0) | dict(counts)
