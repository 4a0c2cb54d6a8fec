"""Run rows: insertion, what templates and decisions need of them, run variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.states import RunStatus
from orchestrator.errors import unknown_run
from orchestrator.store.db import Call
from orchestrator.store.transition import as_text


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run row to be; `timeout` in seconds. `pending`: it waits for its turn. `root_id` None: it is one itself."""

    id: str
    workflow_id: str
    revision_id: str
    app_id: str
    input: Any
    vars: Mapping[str, Any]
    tags: Sequence[str]
    idempotency_key: str | None
    step_count: int
    timeout: float | None
    limit_key: str | None = None
    pending: bool = False
    rerun_of_id: str | None = None
    root_id: str | None = None
    parent_run_id: str | None = None
    parent_step_id: str | None = None
    depth: int = 0


_INSERT = text("""
INSERT INTO workflow_runs (id, workflow_id, revision_id, app_id, status, input, vars, tags, idempotency_key,
  limit_key, root_id, parent_run_id, parent_step_id, parent_waits, depth, step_count, rerun_of_id, created_at,
  started_at, deadline_at)
VALUES (:id, :workflow_id, :revision_id, :app_id, CASE WHEN :pending THEN 'pending' ELSE 'running' END,
  CAST(:input AS json), CAST(:vars AS json), :tags, :idempotency_key, :limit_key,
  CAST(coalesce(:root_id, :id) AS uuid), :parent_run_id, :parent_step_id, CAST(:parent_step_id AS uuid) IS NOT NULL,
  :depth, :step_count, :rerun_of_id, orchestrator_now(),
  CASE WHEN NOT :pending THEN orchestrator_now() END,
  CASE WHEN NOT :pending THEN orchestrator_now() + make_interval(secs => CAST(:timeout AS double precision)) END)
ON CONFLICT (workflow_id, app_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
RETURNING id
""")


def insert_run(conn: Connection, run: NewRun) -> bool:
    """Insert a run; False when its idempotency key is taken."""
    values = {name: getattr(run, name) for name in NewRun.__slots__}
    values |= {"input": as_json(run.input), "vars": as_json(run.vars), "tags": list(run.tags)}
    return conn.execute(_INSERT, values).first() is not None


def as_json(value: Any) -> str:
    """JSON text, `null` for None."""
    return as_text(value) or "null"


_BY_KEY = "SELECT id FROM workflow_runs WHERE workflow_id = %s AND app_id = %s AND idempotency_key = %s"


def find_by_key(call: Call, workflow_id: str, app_id: str, key: str) -> str | None:
    """The run that was started with this idempotency key."""
    rows = call(_BY_KEY, [workflow_id, app_id, key])
    return rows[0][0] if rows else None


# As a change of the row locks it. Who writes a row that refers to the run twice in a transaction has its key checked,
# and with it a share of the run's row before the run is locked: for `FOR UPDATE` two such would wait for each other.
_LOCK = "FOR NO KEY UPDATE"

_ORIGIN = """
SELECT r.id, r.status, r.workflow_id, w.name AS workflow, w.latest_revision, r.revision_id, r.app_id, r.input, r.vars,
  r.tags
FROM workflow_runs r JOIN workflow_revisions v ON v.id = r.revision_id JOIN workflows w ON w.id = v.workflow_id
WHERE r.id = :id
"""


def load_origin(conn: Connection, run_id: str, *, lock: bool = False) -> Row[Any]:
    """What a rerun begins with; with `lock`, nobody opens the run again meanwhile. Raises `NotFound`."""
    row = conn.execute(text(_ORIGIN + (f" {_LOCK} OF r" if lock else "")), {"id": run_id}).first()
    if row is None:
        raise unknown_run(run_id)
    return row


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run as decisions and templates see it."""

    id: str
    workflow_id: str
    revision_id: str
    workflow: str
    revision: int
    app: str
    config: Any
    status: RunStatus
    final_status: RunStatus | None
    handler_stage: int
    halting: str | None
    input: Any
    vars: dict[str, Any]
    error: Any
    limit_key: str | None
    tags: list[str]
    root_id: str
    parent_run_id: str | None
    depth: int
    created_at: datetime
    started_at: datetime | None
    now: datetime

    @property
    def closing(self) -> bool:
        """Its steps have ended, and what it ends as is decided; its compensations and handlers run."""
        return self.final_status is not None and (self.handler_stage > 0 or self.status is RunStatus.RUNNING)


_FACTS = """
SELECT r.id, r.workflow_id, r.revision_id, w.name AS workflow, v.number AS revision, a.name AS app, a.config, r.status,
  r.final_status, r.handler_stage, r.halting, r.input, r.vars, r.error, r.limit_key, r.tags, r.root_id,
  r.parent_run_id, r.depth,
  r.created_at, r.started_at, orchestrator_now() AS now
FROM workflow_runs r JOIN workflow_revisions v ON v.id = r.revision_id JOIN workflows w ON w.id = v.workflow_id
JOIN apps a ON a.id = r.app_id WHERE r.id = :id
"""
_FACTS_READ = text(_FACTS)
_FACTS_LOCK = text(f"{_FACTS} {_LOCK} OF r")


def load_run(conn: Connection, run_id: str, *, lock: bool = False) -> RunFacts:
    """The run's facts; raises `NotFound`. With `lock`, locked after its steps (the last in the lock order)."""
    row = conn.execute(_FACTS_LOCK if lock else _FACTS_READ, {"id": run_id}).first()
    if row is None:
        raise unknown_run(run_id)
    return _facts(row)


def _facts(row: Row[Any]) -> RunFacts:
    values = dict(row._mapping)
    values["status"] = RunStatus(row.status)
    values["final_status"] = RunStatus(row.final_status) if row.final_status else None
    return RunFacts(**values)


_SET_VARS = text("UPDATE workflow_runs SET vars = CAST(:vars AS json) WHERE id = :id")


def publish_vars(conn: Connection, run_id: str, published: Mapping[str, Any]) -> None:
    """Set run variables on top of what is committed: the last commit wins."""
    held = conn.execute(text(f"SELECT vars FROM workflow_runs WHERE id = :id {_LOCK}"), {"id": run_id}).scalar_one()
    conn.execute(_SET_VARS, {"id": run_id, "vars": as_json({**held, **published})})


def set_handler_stage(conn: Connection, run_id: str, stage: int) -> None:
    """Note which lifecycle handler is under way (1 the status's, 2 on_finish)."""
    conn.execute(text("UPDATE workflow_runs SET handler_stage = :stage WHERE id = :id"), {"id": run_id, "stage": stage})


# A canceling run is to end by its deadline too, whatever its running steps do.
_HALT = text("""
UPDATE workflow_runs SET halting = :reason
WHERE id = :id AND halting IS NULL
  AND (final_status IS NULL OR (:reason = 'deadline' AND status = 'canceling' AND handler_stage = 0))
""")


def request_halt(conn: Connection, run_id: str, reason: str) -> None:
    """Note, with the failure that causes it, that the run is to be stopped; nothing new of it starts."""
    conn.execute(_HALT, {"id": run_id, "reason": reason})


def clear_halt(conn: Connection, run_id: str) -> None:
    conn.execute(text("UPDATE workflow_runs SET halting = NULL WHERE id = :id"), {"id": run_id})


def find_halting(conn: Connection, limit: int) -> list[str]:
    """Runs that are to be stopped and are not yet."""
    found = text("SELECT id FROM workflow_runs WHERE halting IS NOT NULL ORDER BY id LIMIT :limit")
    return list(conn.execute(found, {"limit": limit}).scalars())
