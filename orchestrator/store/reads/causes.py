"""Failed runs by cause: the same workflow, the same type of error, and the same words but for numbers and ids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.masking import MASK
from orchestrator.store.reads.page import iso
from orchestrator.store.reads.runs import id_at
from orchestrator.store.reads.secrets import load_schemas, secrets_of
from orchestrator.store.workflows import find_app

MOST_RUNS = 1_000
# A run may have been started long before it failed.
_STARTED_BEFORE = timedelta(days=6)
_VARIABLE = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|0x[0-9a-fA-F]+|\d[\d.,:]*")
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class Cause:
    """`line`: the first of the newest run's message. `common`: a part of it that the others have too, "" for none.

    `since`: when the first of them was started.
    """

    workflow: str
    app: str
    type: str
    line: str
    step: str | None
    common: str
    count: int
    run_id: str
    failed_at: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Causes:
    """`count`: of all failed runs; `more`: there are more than were looked at."""

    items: Sequence[Cause]
    count: int
    more: bool


# By the index of stopped runs: the history is not read. Those that are part of another run fail with that one.
_SHOWN = """
SELECT r.id, r.revision_id, r.workflow_id, r.app_id, r.created_at, r.finished_at, w.name AS workflow, a.name AS app,
  coalesce(r.error ->> 'type', '') AS type, r.error ->> 'step' AS step,
  left(split_part(coalesce(r.error ->> 'message', ''), E'\\n', 1), 300) AS line
FROM ({which}) r JOIN workflows w ON w.id = r.workflow_id JOIN apps a ON a.id = r.app_id ORDER BY r.id DESC
"""
_FAILED = _SHOWN.format(
    which="""
  SELECT * FROM workflow_runs WHERE status = 'failed' AND id >= CAST(:low AS uuid) AND finished_at >= :since
    AND parent_run_id IS NULL {of_app} ORDER BY id DESC LIMIT :limit"""
)
_AMONG = text(
    _SHOWN.format(which="SELECT * FROM workflow_runs WHERE status = 'failed' AND id = ANY(CAST(:ids AS uuid[]))")
)
_INPUTS = text("SELECT id, input FROM workflow_runs WHERE id = ANY(CAST(:ids AS uuid[]))")


def list_causes(conn: Connection, since: datetime, *, app: str | None = None, limit: int = 10) -> Causes:
    """Why runs failed since then, the cause of the newest first; the newest 1,000 runs are looked at."""
    values: dict[str, Any] = {"low": id_at(since - _STARTED_BEFORE), "since": since, "limit": MOST_RUNS + 1}
    if app is not None:
        values["app"] = find_app(conn, app).id
    of_app = "" if app is None else "AND app_id = CAST(:app AS uuid)"
    rows = conn.execute(text(_FAILED.format(of_app=of_app)), values).all()
    causes = _by_cause(conn, rows[:MOST_RUNS], limit)
    return Causes(causes, min(len(rows), MOST_RUNS), len(rows) > MOST_RUNS)


def causes_among(conn: Connection, run_ids: Sequence[str], limit: int) -> Sequence[Cause]:
    """Why those of these runs failed that are failed now, the cause of the newest first."""
    return _by_cause(conn, conn.execute(_AMONG, {"ids": list(run_ids)}).all(), limit)


def _by_cause(conn: Connection, rows: Sequence[Row[Any]], limit: int) -> Sequence[Cause]:
    groups: dict[tuple[str, ...], list[Row[Any]]] = {}
    for row in rows:
        key = (str(row.workflow_id), str(row.app_id), row.type, _VARIABLE.sub("#", row.line))
        groups.setdefault(key, []).append(row)
    shown = list(groups.values())[:limit]
    lines = _shown_lines(conn, [group[0] for group in shown])
    return [_cause(group, lines[str(group[0].id)]) for group in shown]


def _shown_lines(conn: Connection, newest: Sequence[Row[Any]]) -> dict[str, str]:
    """The first lines, without the secrets they may echo."""
    schemas = load_schemas(conn, [row.revision_id for row in newest])
    telling = {str(row.id): schemas[str(row.revision_id)] for row in newest if str(row.revision_id) in schemas}
    inputs = conn.execute(_INPUTS, {"ids": list(telling)}).all() if telling else []
    secrets = {str(row.id): secrets_of(telling[str(row.id)], row.input) for row in inputs}
    lines = {str(row.id): str(row.line) for row in newest}
    return lines | {id: str(found.show(lines[id])) for id, found in secrets.items()}


def _cause(group: Sequence[Row[Any]], line: str) -> Cause:
    newest = group[0]
    return Cause(
        workflow=newest.workflow,
        app=newest.app,
        type=newest.type,
        line=line,
        step=newest.step,
        common=_common(line),
        count=len(group),
        run_id=str(newest.id),
        failed_at=str(iso(newest.finished_at)),
        since=min(row.created_at for row in group),
    )


def _common(line: str) -> str:
    parts = [part.strip() for whole in line.split(MASK) for part in _VARIABLE.split(whole)]
    longest = max(parts, key=len, default="")
    return longest if len(longest) >= _SHORTEST else ""
