"""Items of a step in their order, and one item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.items import SPAN
from orchestrator.domain.states import StepStatus
from orchestrator.errors import NotFound
from orchestrator.store.reads.page import Page, iso, number_cursor, page_of
from orchestrator.store.reads.secrets import RunSecrets, load_secrets
from orchestrator.store.reads.steps import child_schemas, own_output, step_id
from orchestrator.store.reads.whole import Read, read_whole

_SHAPE = """
SELECT i.id, i.item_index, i.item, i.status, i.reason, i.attempt, i.max_attempts, i.input, i.output, i.error, i.queue,
  coalesce(w.host || ':' || w.pid, i.worker_id) AS worker, i.ready_at, i.started_at, i.finished_at, i.next_attempt_at,
  k.child_run_id, k.child_revision_id
FROM workflow_run_steps i LEFT JOIN workers w ON w.id = i.worker_id LEFT JOIN LATERAL (
  SELECT k.child_run_id, c.revision_id AS child_revision_id
  FROM workflow_children k JOIN workflow_runs c ON c.id = k.child_run_id
  WHERE i.function IS NULL AND k.parent_step_id = i.id ORDER BY k.attempt DESC LIMIT 1
) k ON true
"""
_ONE = text(f"{_SHAPE} WHERE i.id = :id")
_PAGE = f"""{_SHAPE}
WHERE i.run_id = :run_id AND i.position > :after AND i.position < :end {{status}} ORDER BY i.position LIMIT :limit
"""
_ANY_STATUS = text(_PAGE.format(status=""))
_SOME = text(_PAGE.format(status="AND i.status = ANY(:statuses)"))
_FIRST = text("SELECT items_first FROM workflow_run_steps WHERE id = :id")


def list_items(
    conn: Connection,
    run_id: str,
    step: str,
    status: StepStatus | Sequence[StepStatus] | None = None,
    after: str | None = None,
    limit: int = 100,
    *,
    secrets: RunSecrets | None = None,
) -> Page:
    """A page of the items of the step named `step` as docs/cli.md shapes them, in one or any of several states.

    Empty for a step that was not expanded; raises `NotFound` for the step.
    """
    first = _first_item(conn, run_id, step)
    if first is None:
        return Page([])
    index = number_cursor(after)
    values: dict[str, Any] = {"run_id": run_id, "after": first + (-1 if index is None else index), "end": first + SPAN}
    statuses = [status] if isinstance(status, StepStatus) else list(status or ())
    if statuses:
        values["statuses"] = [wanted.value for wanted in statuses]
    rows = conn.execute(_SOME if statuses else _ANY_STATUS, values | {"limit": limit + 1}).all()
    hidden = load_secrets(conn, run_id) if secrets is None else secrets
    schemas = child_schemas(conn, rows)
    return page_of(rows, limit, lambda row: _shape(row, hidden, schemas), lambda row: str(row.item_index))


def get_item(conn: Connection, run_id: str, step: str, index: int, read: Read | None = None) -> dict[str, Any]:
    """An item of the step named `step`, its values as `read` gives them; raises `NotFound`."""
    row = conn.execute(_ONE, {"id": item_id(conn, run_id, step, index)}).one()
    return _shape(read_whole(row, read), load_secrets(conn, run_id), child_schemas(conn, [row]))


def _first_item(conn: Connection, run_id: str, step: str) -> int | None:
    first: int | None = conn.execute(_FIRST, {"id": step_id(conn, run_id, step)}).scalar()
    return first


_FIRST_OPEN = text("""
SELECT item_index FROM workflow_run_steps WHERE run_id = :run_id AND position >= :first AND position < :end
  AND status IN ('pending', 'ready', 'queued', 'running', 'waiting') ORDER BY position LIMIT 1
""")


def first_open(conn: Connection, run_id: str, step: str) -> int | None:
    """The index of the first item of the step named `step` that has not ended; raises `NotFound` for the step."""
    first = _first_item(conn, run_id, step)
    values = {"run_id": run_id, "first": first, "end": (first or 0) + SPAN}
    return None if first is None else conn.execute(_FIRST_OPEN, values).scalar()


_ITEM = text("SELECT id FROM workflow_run_steps WHERE run_id = :run_id AND position = :position")


def item_id(conn: Connection, run_id: str, step: str, index: int) -> str:
    """The id of an item of the step named `step`; raises `NotFound`."""
    first = _first_item(conn, run_id, step)
    place = None if first is None or not 0 <= index < SPAN else first + index
    id = None if place is None else conn.execute(_ITEM, {"run_id": run_id, "position": place}).scalar()
    if id is None:
        raise NotFound(f"step '{step}' has no item {index}")
    return str(id)


def _shape(row: Row[Any], secrets: RunSecrets, schemas: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "index": row.item_index,
        "item": secrets.show(row.item),
        "status": row.status,
        "reason": row.reason,
        "attempt": row.attempt,
        "max_attempts": row.max_attempts,
        "input": secrets.show(row.input),
        "output": secrets.show(own_output(row, schemas)),
        "error": secrets.show(row.error),
        "queue": row.queue,
        "worker": row.worker,
        "ready_at": iso(row.ready_at),
        "started_at": iso(row.started_at),
        "finished_at": iso(row.finished_at),
        "next_attempt_at": iso(row.next_attempt_at),
        "child_run_id": str(row.child_run_id) if row.child_run_id else None,
    }
