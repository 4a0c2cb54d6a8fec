"""Steps of a run in graph order, and one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.codes import DRIVER
from orchestrator.domain.near import did_you_mean
from orchestrator.domain.secret_fields import mask_fields
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, NotFound, OrchestratorError, unknown_run
from orchestrator.store.item_columns import STEPS_ONLY
from orchestrator.store.item_rows import filled
from orchestrator.store.reads.page import Page, iso, number_cursor, page_of
from orchestrator.store.reads.runs import count_steps
from orchestrator.store.reads.secrets import RunSecrets, load_schemas, load_secrets
from orchestrator.store.reads.shown import SHOWN
from orchestrator.store.reads.whole import Read, read_whole

# How many of a step's items are in each state: counted while it goes on, and kept at its end.
ITEMS = """CASE WHEN s.items_total IS NOT NULL THEN coalesce(CASE WHEN s.finished_at IS NOT NULL THEN s.items END,
  (SELECT json_object_agg(c.status, c.n) FROM (SELECT i.status, count(*) AS n FROM workflow_run_steps i
    WHERE i.run_id = s.run_id AND i.position >= s.items_first AND i.position < s.items_first + s.items_made
    GROUP BY i.status) c), json_build_object()) END"""
# `attempt` is the number of the latest attempt, lost ones and those before an operator's retry included;
# `max_attempts` does not count these.
_SHAPE = f"""
SELECT s.position, s.id, s.name, s.status, s.reason, s.attempt, s.max_attempts, s.input, s.output, s.error, s.queue,
  coalesce(w.host || ':' || w.pid, s.worker_id) AS worker, s.ready_at, s.started_at, s.finished_at, s.next_attempt_at,
  s.held_at, s.held_by, s.hold_reason, s.reused_step_id IS NOT NULL AS reused, k.child_run_id, k.child_revision_id,
  {ITEMS} AS items
FROM {SHOWN} s LEFT JOIN workers w ON w.id = s.worker_id LEFT JOIN LATERAL (
  SELECT k.child_run_id, c.revision_id AS child_revision_id
  FROM workflow_children k JOIN workflow_runs c ON c.id = k.child_run_id
  WHERE s.function IS NULL AND k.parent_step_id = coalesce(s.reused_step_id, s.id) ORDER BY k.attempt DESC LIMIT 1
) k ON true
WHERE s.run_id = :run_id AND s.{STEPS_ONLY}
"""
_PAGE = f"{_SHAPE} AND s.position > :after {{status}} ORDER BY s.position LIMIT :limit"
_ANY_STATUS = text(_PAGE.format(status=""))
_SOME = text(_PAGE.format(status="AND s.status = ANY(:statuses)"))
_NAMED = text(f"{_SHAPE} AND s.name = :name ORDER BY s.position LIMIT 1")


def list_steps(
    conn: Connection,
    run_id: str,
    status: StepStatus | Sequence[StepStatus] | None = None,
    after: str | None = None,
    limit: int = 100,
    *,
    secrets: RunSecrets | None = None,
) -> Page:
    """A page of a run's steps as docs/cli.md shapes them, in one or any of several states if given.

    Empty for a run that is not there.
    """
    place = number_cursor(after)
    values: dict[str, Any] = {"run_id": run_id, "after": -1 if place is None else place, "limit": limit + 1}
    statuses = [status] if isinstance(status, StepStatus) else list(status or ())
    if statuses:
        values["statuses"] = [wanted.value for wanted in statuses]
    rows = conn.execute(_SOME if statuses else _ANY_STATUS, values).all()
    hidden = load_secrets(conn, run_id) if secrets is None else secrets
    schemas = child_schemas(conn, rows)
    return page_of(rows, limit, lambda row: _shape(row, hidden, schemas), lambda row: str(row.position))


def child_schemas(conn: Connection, rows: Sequence[Row[Any]]) -> dict[str, tuple[Any, Any]]:
    """The schemas with secret fields of the children that the steps or items have."""
    revisions = [str(row.child_revision_id) for row in rows if row.child_revision_id is not None]
    return load_schemas(conn, revisions) if revisions else {}


def own_output(row: Row[Any], schemas: Mapping[str, tuple[Any, Any]]) -> Any:
    """What the step or item gave; of a child's, what its schema does not hide: these secrets stay the child's."""
    given = schemas.get(str(row.child_revision_id))
    return row.output if given is None else mask_fields(given[1], row.output)


def get_step(conn: Connection, run_id: str, name: str, read: Read | None = None) -> dict[str, Any]:
    """The step of this name, its values as `read` gives them; raises `NotFound` naming a near one."""
    row = conn.execute(_NAMED, {"run_id": run_id, "name": name}).first()
    if row is None:
        raise unknown_step(conn, run_id, name)
    return _shape(read_whole(row, read), load_secrets(conn, run_id), child_schemas(conn, [row]))


_ID = text(f"""
SELECT id FROM {SHOWN} s WHERE run_id = :run_id AND name = :name AND {STEPS_ONLY} ORDER BY position LIMIT 1
""")
_NAMES = text(f"SELECT name FROM {SHOWN} s WHERE run_id = :run_id AND {STEPS_ONLY} ORDER BY position")


def step_id(conn: Connection, run_id: str, name: str) -> str | None:
    """The id of the step of this name; None of one that a function did in its own process. Raises `NotFound` naming a
    near one."""
    row = conn.execute(_ID, {"run_id": run_id, "name": name}).first()
    if row is None:
        raise unknown_step(conn, run_id, name)
    return None if row.id is None else str(row.id)


def unknown_step(conn: Connection, run_id: str, name: str) -> OrchestratorError:
    """What to say of a name no step of the run has: `NotFound`, or `Conflict` of one that a function did itself."""
    known = conn.execute(_NAMES, {"run_id": run_id}).scalars().all()
    if not known:
        return unknown_run(run_id)
    if name in known:
        return Conflict(f"'{name}' was done by the run's function itself: only its step '{DRIVER}' can be acted on")
    return NotFound(f"the run has no step '{name}'{did_you_mean(name, known)}")


def step_counts(conn: Connection, run_id: str) -> dict[str, int]:
    """How many steps of the run are in each status that occurs."""
    return count_steps(conn, [run_id])[run_id]


def _shape(row: Row[Any], secrets: RunSecrets, schemas: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    return {
        "id": None if row.id is None else str(row.id),
        "name": row.name,
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
        "items": None if row.items is None else filled(row.items),
        "held": {"at": iso(row.held_at), "by": row.held_by, "reason": row.hold_reason} if row.held_at else None,
        "reused": row.reused,
    }
