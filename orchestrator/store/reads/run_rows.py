"""Runs as a list shows them: without their inputs and outputs, which may be large, and paged both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.states import RUN_OPEN
from orchestrator.store.reads.page import id_cursor, iso
from orchestrator.store.reads.runs import RunFilters, count_steps, find_ids, find_ids_down_to
from orchestrator.store.reads.secrets import RunSecrets, load_schemas, secrets_of

_MOST_COUNTED = 1000  # steps of an open run that are counted for the list


@dataclass(frozen=True, slots=True)
class RunRows:
    """`newer` and `older` are the cursors to hand in as `before` and `after`; None where nothing follows.

    `looked`: only so many runs with errors were looked through for words; `older` goes on with those before them.
    """

    items: list[dict[str, Any]]
    newer: str | None = None
    older: str | None = None
    looked: int | None = None


_ROWS = text("""
SELECT r.id, r.revision_id, w.name AS workflow, v.number AS revision, a.name AS app, r.status, r.tags, r.created_at,
  r.started_at, r.finished_at, r.pause_reason, r.parent_run_id, r.rerun_of_id, r.step_count,
  json_build_object('type', r.error ->> 'type', 'message', left(r.error ->> 'message', 500),
    'step', r.error ->> 'step') AS error
FROM workflow_runs r JOIN workflow_revisions v ON v.id = r.revision_id JOIN workflows w ON w.id = v.workflow_id
JOIN apps a ON a.id = r.app_id WHERE r.id = ANY(CAST(:ids AS uuid[])) ORDER BY r.id DESC
""")
_INPUTS = text("SELECT id, input FROM workflow_runs WHERE id = ANY(CAST(:ids AS uuid[]))")


def list_run_rows(
    conn: Connection, filters: RunFilters, *, after: str | None = None, before: str | None = None, limit: int = 50
) -> RunRows:
    """A page, newest first. `counts` of a row: the steps by status of an open run that is not too large, else None.

    Raises `NotFound` for an app or workflow nobody has registered, `InvalidInput` for a cursor.
    """
    if before is not None:
        return _before(conn, filters, before, limit)
    bound = _bound(conn, id_cursor(after)) if filters.error else None
    if bound is None:
        found = find_ids(conn, filters, id_cursor(after), limit + 1)
    else:
        found = find_ids_down_to(conn, filters, after, bound.end, limit + 1)
    ids = found[:limit]
    newer = (ids[0] if ids else after) if after else None
    if len(found) > limit:
        return RunRows(_load(conn, ids), newer, ids[-1])
    return RunRows(_load(conn, ids), newer, bound.last if bound else None, _LOOKED if bound else None)


def _before(conn: Connection, filters: RunFilters, before: str, limit: int) -> RunRows:
    found = find_ids(conn, filters, None, limit + 1, before=id_cursor(before))
    ids = found[-limit:]
    if not ids:
        return RunRows([])
    return RunRows(_load(conn, ids), ids[0] if len(found) > limit else None, ids[-1])


# Words are looked for run by run: no more of them at a time than a reader waits for.
_LOOKED = 20_000
_ENDS = text("""
SELECT id FROM workflow_runs WHERE error IS NOT NULL AND (CAST(:after AS uuid) IS NULL OR id < :after)
ORDER BY id DESC OFFSET :skip LIMIT 2
""")


@dataclass(frozen=True, slots=True)
class _Bound:
    """The last run that is looked at, and the first that is not."""

    last: str
    end: str


def _bound(conn: Connection, after: str | None) -> _Bound | None:
    """Where to stop; None when all can be looked at."""
    ids = [str(id) for id in conn.execute(_ENDS, {"after": after, "skip": _LOOKED - 1}).scalars()]
    return _Bound(*ids) if len(ids) == 2 else None


def _load(conn: Connection, ids: Sequence[str]) -> list[dict[str, Any]]:
    return _shape_all(conn, conn.execute(_ROWS, {"ids": list(ids)}).all()) if ids else []


def _shape_all(conn: Connection, rows: Sequence[Row[Any]]) -> list[dict[str, Any]]:
    counted = [row.id for row in rows if row.status in RUN_OPEN and row.step_count <= _MOST_COUNTED]
    counts = count_steps(conn, counted) if counted else {}
    secrets = _secrets(conn, rows)
    return [_shape(row, secrets.get(str(row.id), RunSecrets()), counts.get(str(row.id))) for row in rows]


def _secrets(conn: Connection, rows: Sequence[Row[Any]]) -> dict[str, RunSecrets]:
    """Those of runs that have any and say something: an error may echo them."""
    schemas = load_schemas(conn, [row.revision_id for row in rows])
    telling = {str(row.id): schemas[str(row.revision_id)] for row in rows if str(row.revision_id) in schemas}
    if not telling:
        return {}
    inputs = conn.execute(_INPUTS, {"ids": list(telling)})
    return {str(row.id): secrets_of(telling[str(row.id)], row.input) for row in inputs}


def _shape(row: Row[Any], secrets: RunSecrets, counts: Mapping[str, int] | None) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "workflow": row.workflow,
        "revision": row.revision,
        "app": row.app,
        "status": row.status,
        "tags": list(row.tags),
        "error": secrets.show(row.error) if row.error["type"] else None,
        "pause_reason": row.pause_reason,
        "created_at": iso(row.created_at),
        "started_at": iso(row.started_at),
        "finished_at": iso(row.finished_at),
        "parent_run_id": str(row.parent_run_id) if row.parent_run_id else None,
        "rerun_of": str(row.rerun_of_id) if row.rerun_of_id else None,
        "steps": row.step_count,
        "counts": counts,
    }
