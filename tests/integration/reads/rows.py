"""Rows as the engine leaves them, written directly: what views show does not depend on how it came to be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, insert, select

from orchestrator.ids import new_id
from orchestrator.store.tables import (
    run_events,
    step_logs,
    workflow_revisions,
    workflow_run_steps,
    workflow_runs,
    workflow_step_attempts,
)
from orchestrator.store.workflows import add_revision, ensure_app, ensure_group, lock_workflow
from tests.architecture.pages import page

_CLI = page("docs/cli.md").text
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ENDED = ("succeeded", "failed", "canceled")


def keys_of(thing: str) -> list[str]:
    """The keys that docs/cli.md says a run or a step has, in their order."""
    (found,) = re.findall(rf"^{thing}: `([^`]+)`", _CLI, re.MULTILINE)
    return [key.strip() for key in re.sub(r"\{[^}]*\}", "", found).split(",")]


def add_workflow(
    conn: Connection, name: str = "order", app: str | None = "default", group: str | None = None, **document: Any
) -> str:
    """A workflow with one more revision; the revision's id."""
    owner = ensure_group(conn, group) if group else ensure_app(conn, app or "default")
    workflow = lock_workflow(conn, owner, name)
    content = {"name": name, "steps": []} | document
    return add_revision(conn, workflow.id, name, workflow.latest_revision + 1, content, new_id())


def add_run(conn: Connection, revision_id: str, status: str = "succeeded", app: str = "default", **given: Any) -> str:
    """A run in a state; its id."""
    row = conn.execute(select(workflow_revisions).where(workflow_revisions.c.id == revision_id)).one()
    ended = status in ENDED
    values: dict[str, Any] = {
        "id": new_id(),
        "workflow_id": row.workflow_id,
        "revision_id": revision_id,
        "app_id": ensure_app(conn, app).id,
        "status": status,
        "final_status": status if ended else None,
        "input": {},
        "vars": {},
        "error": {"type": "ValueError", "message": "no such card", "step": "charge"} if status == "failed" else None,
        "step_count": 1,
        "created_at": NOW,
        "started_at": NOW,
        "finished_at": NOW + timedelta(seconds=12) if ended else None,
        "paused_at": NOW if status == "paused" else None,
    }
    values |= given
    values.setdefault("root_id", values["id"])
    conn.execute(insert(workflow_runs).values(**values))
    return str(values["id"])


def add_steps(conn: Connection, run_id: str, statuses: Mapping[str, str], **given: Any) -> dict[str, str]:
    """Steps by name in states, in order; their ids by name."""
    app = conn.execute(select(workflow_runs.c.app_id).where(workflow_runs.c.id == run_id)).scalar_one()
    own = {"app_id": app} | given
    rows = [_step(run_id, place, name, status) | own for place, (name, status) in enumerate(statuses.items())]
    conn.execute(insert(workflow_run_steps), rows)
    return {row["name"]: row["id"] for row in rows}


def _step(run_id: str, position: int, name: str, status: str) -> dict[str, Any]:
    ended = status in ("succeeded", "failed", "canceled", "skipped", "upstream_failed")
    return {
        "id": new_id(),
        "run_id": run_id,
        "position": position,
        "name": name,
        "status": status,
        "reason": {"failed": "error", "skipped": "condition", "upstream_failed": "upstream"}.get(status, "canceled")
        if status in ("failed", "canceled", "skipped", "upstream_failed")
        else None,
        "queue": "default",
        "source_count": 0,
        "remaining_sources": 0,
        "attempt": 1,
        "max_attempts": 3,
        "claim_token": new_id() if status in ("queued", "running") else None,
        "lease_expires_at": NOW if status == "running" else None,
        "started_at": NOW,
        "finished_at": NOW if ended else None,
        "error": {"type": "ValueError", "message": "no such card"} if status == "failed" else None,
    }


def add_log(conn: Connection, run_id: str, step_id: str, messages: Sequence[str], attempt: int = 1) -> None:
    rows = [
        {"run_id": run_id, "step_id": step_id, "attempt": attempt, "at": NOW, "stream": "log", "level": "INFO"}
        | {"message": message}
        for message in messages
    ]
    conn.execute(insert(step_logs), rows)


def add_event(conn: Connection, run_id: str, kind: str, data: Any = None, step_id: str | None = None) -> None:
    conn.execute(insert(run_events).values(run_id=run_id, kind=kind, data=data, step_id=step_id, at=NOW))


def add_attempt(conn: Connection, step_id: str, number: int, outcome: str, **given: Any) -> None:
    values = {"step_id": step_id, "number": number, "outcome": outcome, "finished_at": NOW} | given
    conn.execute(insert(workflow_step_attempts).values(**values))
