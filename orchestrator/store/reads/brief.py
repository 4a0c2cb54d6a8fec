"""What a live view needs of a run, at a cost that does not grow with its inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.states import STEP_OPEN, RunStatus, StepStatus
from orchestrator.errors import unknown_run
from orchestrator.ids import is_id
from orchestrator.store.db import Database
from orchestrator.store.item_columns import STEPS_ONLY
from orchestrator.store.reads.items import item_id
from orchestrator.store.reads.shown import SHOWN
from orchestrator.store.reads.steps import unknown_step
from orchestrator.store.tables import one_of


@dataclass(frozen=True, slots=True)
class RunNow:
    """The run's state beyond its public shape. `now` is the database's clock; `closing`: what it will end as."""

    id: str
    workflow: str
    revision: int
    revision_id: str
    app: str
    status: RunStatus
    closing: RunStatus | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    deadline_at: datetime | None
    paused_at: datetime | None
    pause_reason: str | None
    cancel_reason: str | None
    error: dict[str, Any] | None
    now: datetime


_RUN = text("""
SELECT r.id, w.name AS workflow, v.number AS revision, r.revision_id, a.name AS app, r.status,
  r.final_status AS closing, r.created_at, r.started_at, r.finished_at, r.deadline_at, r.paused_at,
  r.pause_reason, r.cancel_reason, r.error, orchestrator_now() AS now
FROM workflow_runs r JOIN workflow_revisions v ON v.id = r.revision_id JOIN workflows w ON w.id = v.workflow_id
JOIN apps a ON a.id = r.app_id WHERE r.id = :id
""")


def run_now(conn: Connection, run_id: str) -> RunNow:
    """The run as it stands; raises `NotFound`."""
    row = conn.execute(_RUN, {"id": run_id}).first() if is_id(run_id) else None
    if row is None:
        raise unknown_run(run_id)
    values = dict(row._mapping) | {"id": str(row.id), "revision_id": str(row.revision_id)}
    values["status"] = RunStatus(row.status)
    values["closing"] = RunStatus(row.closing) if row.closing and not values["status"].terminal else None
    return RunNow(**values)


@dataclass(frozen=True, slots=True)
class StepBrief:
    """A step without its input and output.

    `max_attempts` is the number of the last attempt it may have, lost ones and those before an operator's retry
    included, so that "attempt 3 of 4" is always true. `items_*`: of a step with items, once it was expanded.
    """

    position: int
    name: str
    status: StepStatus
    reason: str | None
    attempt: int
    max_attempts: int | None
    worker: str | None
    queue: str | None
    started_at: datetime | None
    finished_at: datetime | None
    next_attempt_at: datetime | None
    cancel_requested: bool
    progress: Any
    error_type: str | None
    error_message: str | None
    wait: dict[str, Any] | None
    pool: str | None
    held_at: datetime | None = None
    held_by: str | None = None
    hold_reason: str | None = None
    reused: bool = False
    child: dict[str, Any] | None = None  # `run_id`, `workflow` and `status` of the run it started last
    slots: int = 1
    items_total: int | None = None
    items_made: int | None = None
    items_ended: int | None = None
    items_failed: int | None = None
    within: bool = False  # done by a function in its own process


BRIEF = f"""
SELECT s.position, s.name, s.status, s.reason, s.attempt,
  s.attempt_base + s.lost_count + s.max_attempts AS max_attempts,
  coalesce(w.host || ':' || w.pid, s.worker_id) AS worker, s.queue,
  s.started_at, s.finished_at, s.next_attempt_at, s.cancel_requested_at IS NOT NULL AS cancel_requested,
  s.progress, s.error ->> 'type' AS error_type, left(s.error ->> 'message', 1000) AS error_message,
  CASE WHEN s.status = 'waiting' THEN s.wait END AS wait, s.pool,
  CASE WHEN s.function IS NULL THEN (
    SELECT json_build_object('run_id', c.id, 'workflow', w.name, 'status', c.status)
    FROM workflow_children k JOIN workflow_runs c ON c.id = k.child_run_id JOIN workflows w ON w.id = c.workflow_id
    WHERE k.parent_step_id = coalesce(s.reused_step_id, s.id) ORDER BY k.attempt DESC LIMIT 1) END AS child,
  s.held_at, s.held_by, s.hold_reason, s.reused_step_id IS NOT NULL AS reused,
  s.slots, s.items_total, s.items_made, s.items_made - s.items_open AS items_ended, s.items_failed,
  s.id IS NULL AS within
FROM {SHOWN} s LEFT JOIN workers w ON w.id = s.worker_id
WHERE s.run_id = :run_id AND {{which}} ORDER BY s.position LIMIT :limit
"""
_OPEN = text(f"""
SELECT position, name, status, started_at FROM {SHOWN} s
WHERE s.run_id = :run_id AND s.{STEPS_ONLY} AND s.status IN {one_of(STEP_OPEN)} ORDER BY position
""")


def open_steps(conn: Connection, run_id: str) -> dict[int, Row[Any]]:
    """By position: `name`, `status` and `started_at` of the steps that have not ended: there may be thousands."""
    return {row.position: row for row in conn.execute(_OPEN, {"run_id": run_id})}


_ALL = text(BRIEF.format(which=f"s.{STEPS_ONLY}"))
_SOME = text(BRIEF.format(which=f"s.{STEPS_ONLY} AND s.status = ANY(:statuses)"))
_NAMED = text(BRIEF.format(which=f"s.{STEPS_ONLY} AND s.name = :name"))
_ITEM = text(BRIEF.format(which="s.id = :id"))
_AT = text(BRIEF.format(which=f"s.{STEPS_ONLY} AND s.position = ANY(:positions)"))


def list_briefs(
    conn: Connection, run_id: str, statuses: Sequence[StepStatus] = (), limit: int | None = None
) -> list[StepBrief]:
    """Steps in graph order: all, or those in one of `statuses`; the first `limit` of them."""
    values: dict[str, Any] = {"run_id": run_id, "limit": limit}
    if statuses:
        values["statuses"] = [status.value for status in statuses]
    rows = conn.execute(_SOME if statuses else _ALL, values)
    return [step_brief(row) for row in rows]


def get_brief(conn: Connection, run_id: str, name: str) -> StepBrief:
    """The step of this name; raises `NotFound` naming a near one."""
    row = conn.execute(_NAMED, {"run_id": run_id, "name": name, "limit": 1}).first()
    if row is None:
        raise unknown_step(conn, run_id, name)
    return step_brief(row)


def get_item_brief(conn: Connection, run_id: str, step: str, index: int) -> StepBrief:
    """An item of the step named `step`, as `step[index]`; raises `NotFound`."""
    values = {"run_id": run_id, "id": item_id(conn, run_id, step, index), "limit": 1}
    return replace(step_brief(conn.execute(_ITEM, values).one()), name=item_name(step, index))


def item_name(step: str, index: int) -> str:
    """What an item is called in sentences."""
    return f"{step}[{index}]"


def briefs_at(conn: Connection, run_id: str, positions: Sequence[int]) -> list[StepBrief]:
    """The steps at these positions, in graph order."""
    values = {"run_id": run_id, "positions": list(positions), "limit": None}
    return [step_brief(row) for row in conn.execute(_AT, values)]


_MARKS = text(f"""
SELECT position, status, attempt, items_made - items_open AS ended, CAST(progress AS text) AS progress
FROM {SHOWN} s WHERE run_id = :run_id AND {STEPS_ONLY} ORDER BY position
""")


def step_marks(conn: Connection, run_id: str) -> dict[int, tuple[Any, ...]]:
    """By position what shows whether a step has changed since it was looked at."""
    rows = conn.execute(_MARKS, {"run_id": run_id})
    return {row.position: (row.status, row.attempt, row.ended, row.progress) for row in rows}


def step_brief(row: Row[Any]) -> StepBrief:
    """The step of a row that BRIEF gives."""
    brief = StepBrief(**{**row._mapping, "status": StepStatus(row.status)})
    if not brief.wait or brief.items_total is None:
        return brief
    return replace(brief, wait={**brief.wait, "ended": brief.items_ended, "failed": brief.items_failed})


def run_statuses(db: Database, run_ids: Sequence[str]) -> dict[str, RunStatus]:
    """The runs' statuses, in their order; raises `NotFound`."""
    for run_id in run_ids:
        if not is_id(run_id):
            raise unknown_run(run_id)
    rows = dict(db.call("SELECT id, status FROM workflow_runs WHERE id = ANY (%s::uuid[])", [list(run_ids)]))
    for run_id in run_ids:
        if run_id not in rows:
            raise unknown_run(run_id)
    return {run_id: RunStatus(rows[run_id]) for run_id in run_ids}


_STATUSES = text(f"""
SELECT position, status FROM {SHOWN} s WHERE run_id = :run_id AND {STEPS_ONLY} ORDER BY position
""")


def step_statuses(conn: Connection, run_id: str) -> dict[int, StepStatus]:
    """The status of every step of the run by position."""
    return {row.position: StepStatus(row.status) for row in conn.execute(_STATUSES, {"run_id": run_id})}
