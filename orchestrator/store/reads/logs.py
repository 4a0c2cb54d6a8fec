"""What a run's steps logged and printed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.reads.items import item_id
from orchestrator.store.reads.page import Page, iso, number_cursor, page_of
from orchestrator.store.reads.secrets import RunSecrets, load_secrets
from orchestrator.store.reads.steps import step_id

_LIST = """
SELECT l.id, s.name AS step, s.item_index AS item, l.attempt, l.at, l.stream, l.level, l.message
FROM step_logs l JOIN workflow_run_steps s ON s.id = l.step_id
WHERE l.run_id = :run_id AND l.id > :after {step} {attempt} ORDER BY l.id LIMIT :limit
"""


def list_logs(
    conn: Connection,
    run_id: str,
    step: str | None = None,
    attempt: int | None = None,
    after_id: str | int | None = None,
    limit: int = 500,
    *,
    item: int | None = None,
    secrets: RunSecrets | None = None,
) -> Page:
    """A page of log lines in the order they were stored, of one step, one `item` of it (by index) or of all.

    Those of a step are those of its items too. Raises `NotFound` for the step or item.

    Who follows a run must not take the last id read as the end of what can come: see services/tail.py.
    """
    values: dict[str, Any] = {"run_id": run_id, "after": number_cursor(after_id) or 0, "limit": limit + 1}
    if step is not None:
        values["step_id"] = step_id(conn, run_id, step) if item is None else item_id(conn, run_id, step, item)
    if attempt is not None:
        values["attempt"] = attempt
    rows = conn.execute(_statement(step is not None, attempt is not None), values).all()
    hidden = load_secrets(conn, run_id) if secrets is None else secrets
    return page_of(rows, limit, lambda row: _shape(row, hidden), lambda row: str(row.id))


# Of a step, of an item, and of the items of a step.
_OF_STEP = """(l.step_id = :step_id
  OR s.item_of = (SELECT o.position FROM workflow_run_steps o WHERE o.id = :step_id AND o.item_of IS NULL))"""
_LAST = text(f"""
SELECT l.id, s.name AS step, s.item_index AS item, l.attempt, l.at, l.stream, l.level, l.message
FROM step_logs l JOIN workflow_run_steps s ON s.id = l.step_id
WHERE l.run_id = :run_id AND {_OF_STEP} ORDER BY l.id DESC LIMIT :count
""")


def last_logs(conn: Connection, run_id: str, step: str, count: int, item: int | None = None) -> list[dict[str, Any]]:
    """The last `count` lines of a step, or of one `item` of it, in the order they were stored; raises `NotFound`."""
    id = step_id(conn, run_id, step) if item is None else item_id(conn, run_id, step, item)
    values = {"run_id": run_id, "step_id": id, "count": count}
    rows = conn.execute(_LAST, values).all()
    secrets = load_secrets(conn, run_id)
    return [_shape(row, secrets) for row in reversed(rows)]


def _statement(of_step: bool, of_attempt: bool) -> Any:
    step = f"AND {_OF_STEP}" if of_step else ""
    return text(_LIST.format(step=step, attempt="AND l.attempt = :attempt" if of_attempt else ""))


def _shape(row: Row[Any], secrets: RunSecrets) -> dict[str, Any]:
    return {
        "id": row.id,
        "step": row.step,
        "item": row.item,
        "attempt": row.attempt,
        "at": iso(row.at),
        "stream": row.stream,
        "level": row.level,
        "message": secrets.show(row.message),
    }
