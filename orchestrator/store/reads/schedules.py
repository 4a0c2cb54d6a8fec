"""Schedules by name: how each stands, when it fires, and what was decided at its fire times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.calendar import Calendar
from orchestrator.domain.near import did_you_mean
from orchestrator.domain.secret_fields import mask_fields
from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.ids import is_id
from orchestrator.store.reads.page import Page, iso, pack_cursor, page_of, unpack_cursor
from orchestrator.store.reads.runs import like
from orchestrator.store.reads.secrets import load_schemas
from orchestrator.store.workflows import name_key

LATE_SECONDS = 60  # after which a schedule that was due and has not fired is late
MOST_NEXT = 100
_LATE = f"s.due_at < orchestrator_now() - make_interval(secs => {LATE_SECONDS})"
# The revision whose secret fields are hidden in the input: also of a workflow that was deleted.
_REVISION = """
SELECT v.id FROM workflows w JOIN workflow_revisions v ON v.workflow_id = w.id
  AND v.number = coalesce(s.revision, w.latest_revision)
WHERE w.name_key = s.workflow_key AND (w.app_id = a.id OR w.group_id = a.group_id)
ORDER BY w.deleted_at IS NOT NULL, w.app_id IS NULL LIMIT 1
"""
_SHOWN = f"""
SELECT s.*, a.name AS app, coalesce({_LATE}, false) AS late, f.id AS revision_id, r.status AS last_run_status,
  orchestrator_now() AS now,
  (SELECT count(*) FROM schedule_fires w WHERE w.schedule_id = s.id AND w.status = 'waiting') AS waiting,
  (SELECT count(*) FROM schedule_fires w WHERE w.schedule_id = s.id AND w.status = 'started') AS open_runs
FROM schedules s JOIN apps a ON a.id = s.app_id LEFT JOIN LATERAL ({_REVISION}) f ON true
LEFT JOIN workflow_runs r ON r.id = s.last_run_id
WHERE (CAST(:app AS text) IS NULL OR a.name_key = :app)
"""
_LIST = f"""
{_SHOWN} AND (s.name_key, CAST(s.id AS text)) > (:key, :id)
  AND (CAST(:workflow AS text) IS NULL OR s.workflow_key = :workflow) {{more}}
ORDER BY s.name_key, CAST(s.id AS text) LIMIT :limit
"""
_ONE = text(f"{_SHOWN} AND (s.name_key = :key OR s.id = CAST(:id AS uuid)) ORDER BY s.id LIMIT 1")
_NAMES = text("""
SELECT s.name FROM schedules s JOIN apps a ON a.id = s.app_id
WHERE CAST(:app AS text) IS NULL OR a.name_key = :app ORDER BY s.name_key LIMIT 2000
""")
# What a list may be narrowed to.
STANDINGS: Mapping[str, str] = {
    "active": "s.paused_at IS NULL",
    "paused": "s.paused_at IS NOT NULL",
    "late": _LATE,
    "failing": "(s.error IS NOT NULL OR s.failures_in_row > 0)",
}


def list_schedules(
    conn: Connection,
    after: str | None = None,
    limit: int = 100,
    *,
    app: str | None = None,
    workflow: str | None = None,
    standing: str | None = None,
    words: str = "",
) -> Page:
    """A page of schedules by name, of all apps or of one; `standing` is one of `STANDINGS`, `words` a part of the name
    or the workflow's, in any case."""
    key, id = unpack_cursor(after, 2) if after is not None else ("", "")
    values = _of(app) | {"key": key, "id": id, "limit": limit + 1}
    values["workflow"] = name_key(workflow) if workflow is not None else None
    more = f"AND {STANDINGS[standing]}" if standing is not None else ""
    if words:
        more += " AND (s.name_key LIKE :words OR s.workflow_key LIKE :words)"
        values["words"] = f"%{like(name_key(words))}%"
    rows = conn.execute(text(_LIST.format(more=more)), values).all()
    shown = _shape_all(conn, rows[:limit])
    return Page(shown, pack_cursor(rows[limit - 1].name_key, str(rows[limit - 1].id)) if len(rows) > limit else None)


def get_schedule(conn: Connection, which: str, *, app: str | None = None, next: int = 5) -> dict[str, Any]:
    """The schedule of this name or id, with its `next` fire times; raises `NotFound` naming a near one."""
    row = _find(conn, which, app)
    fires = [] if row.paused_at is not None else _next(row, row.next_fire_at, next)
    return _shape_all(conn, [row])[0] | {"next_fires": [iso(fire) for fire in fires]}


def next_fires(
    conn: Connection, which: str, *, app: str | None = None, after: datetime | None = None, count: int = 10
) -> list[str]:
    """The fire times after `after` (now), also of a schedule that is paused; raises `NotFound`, `InvalidInput`."""
    if not 1 <= count <= MOST_NEXT:
        raise InvalidInput([Problem("count", f"must be from 1 to {MOST_NEXT}")])
    row = _find(conn, which, app)
    first = _calendar(row).next_after(row.now if after is None else after)
    return [iso(fire) or "" for fire in _next(row, first, count)]


def _find(conn: Connection, which: str, app: str | None) -> Row[Any]:
    row = conn.execute(_ONE, _of(app) | {"key": name_key(which), "id": which if is_id(which) else None}).first()
    if row is None:
        names = conn.execute(_NAMES, _of(app)).scalars().all()
        raise NotFound(f"there is no schedule '{which}'{did_you_mean(which, names)}")
    return row


def _of(app: str | None) -> dict[str, Any]:
    return {"app": name_key(app) if app is not None else None}


def _calendar(row: Row[Any]) -> Calendar:
    return Calendar.of(row.id, row.cron, row.interval_seconds, row.timezone, row.jitter_seconds)


def _next(row: Row[Any], first: datetime | None, count: int) -> Iterable[datetime]:
    calendar = _calendar(row)
    while first is not None and count > 0:
        yield first
        first, count = calendar.next_after(first), count - 1


def shown_input(conn: Connection, row: Row[Any]) -> Any:
    """The input without the secret fields of its workflow; `row` is one of `store/schedules.py`."""
    found = conn.execute(_ONE, {"app": None, "key": None, "id": row.id}).one()
    return _inputs(conn, [found])[0]


def _inputs(conn: Connection, rows: Sequence[Row[Any]]) -> list[Any]:
    schemas = load_schemas(conn, [row.revision_id for row in rows if row.revision_id is not None])
    pairs = [schemas.get(str(row.revision_id)) for row in rows]
    return [
        row.input if pair is None else mask_fields(pair[0], row.input) for row, pair in zip(rows, pairs, strict=True)
    ]


_SAME = (
    "id",
    "name",
    "app",
    "workflow",
    "revision",
    "cron",
    "interval_seconds",
    "timezone",
    "catchup_seconds",
    "overlap",
    "jitter_seconds",
    "max_failures",
    "late",
    "paused_by",
    "pause_reason",
    "failures_in_row",
    "waiting",
    "open_runs",
    "error",
    "created_by",
    "changed_by",
)
_TIMES = ("paused_at", "next_fire_at", "due_at", "last_fire_at", "error_at", "created_at", "changed_at")


def _shape_all(conn: Connection, rows: Sequence[Row[Any]]) -> list[dict[str, Any]]:
    return [_shape(row, input) for row, input in zip(rows, _inputs(conn, rows), strict=True)]


def _shape(row: Row[Any], input: Any) -> dict[str, Any]:
    last = {"id": row.last_run_id, "status": row.last_run_status} if row.last_run_status is not None else None
    counts = {name: getattr(row, f"{name}_count") for name in ("started", "skipped", "missed", "failed")}
    shown = {name: getattr(row, name) for name in _SAME} | {name: iso(getattr(row, name)) for name in _TIMES}
    paused = row.paused_at is not None
    more = {"paused": paused, "input": input, "tags": list(row.tags), "last_run": last, "counts": counts}
    return shown | more | {"next_fire_at": None if paused else shown["next_fire_at"]}


_FIRES = text("""
SELECT * FROM (
  (SELECT fire_at, again, CAST(NULL AS timestamptz) AS last_at, CAST(1 AS bigint) AS count, cause, status,
     CAST(NULL AS text) AS reason, run_id, error, decided_at
   FROM schedule_fires WHERE schedule_id = :id AND (fire_at, again) < (:at, :again)
   ORDER BY fire_at DESC, again DESC LIMIT :limit)
  UNION ALL
  (SELECT first_at, -1, last_at, count, 'due', 'passed', reason, CAST(NULL AS uuid), CAST(NULL AS text), noted_at
   FROM schedule_gaps WHERE schedule_id = :id AND (first_at, -1) < (:at, :again)
   ORDER BY first_at DESC LIMIT :limit)
) one ORDER BY fire_at DESC, again DESC LIMIT :limit
""")


def list_fires(
    conn: Connection, which: str, after: str | None = None, limit: int = 50, *, app: str | None = None
) -> Page:
    """What was decided at the fire times of a schedule, latest first; raises `NotFound`.

    An item with `status` `passed` is of all fire times from `fire_at` to `last_at`.
    """
    at, again = unpack_cursor(after, 2) if after is not None else ("infinity", "0")
    try:
        moment, place = at if at == "infinity" else datetime.fromisoformat(at), int(again[:10])
    except ValueError as error:
        raise InvalidInput([Problem("after", "is not a cursor of this list")]) from error
    row = _find(conn, which, app)
    rows = conn.execute(_FIRES, {"id": row.id, "at": moment, "again": place, "limit": limit + 1}).all()
    return page_of(rows, limit, _shape_fire, lambda row: pack_cursor(iso(row.fire_at) or "", str(row.again)))


def _shape_fire(row: Row[Any]) -> dict[str, Any]:
    times = {name: iso(getattr(row, name)) for name in ("fire_at", "last_at", "decided_at")}
    shown = {name: getattr(row, name) for name in ("count", "cause", "status", "reason", "run_id", "error")}
    return times | shown | {"again": max(row.again, 0)}


_NEXT_OF = text("""
SELECT DISTINCT ON (s.workflow_key) s.workflow_key, s.next_fire_at, s.name
FROM schedules s JOIN apps a ON a.id = s.app_id
WHERE s.workflow_key = ANY(CAST(:keys AS text[])) AND s.due_at IS NOT NULL
  AND (CAST(:app AS text) IS NULL OR a.name_key = :app)
ORDER BY s.workflow_key, s.next_fire_at
""")


def next_fire_of(conn: Connection, workflows: Iterable[str], *, app: str | None = None) -> dict[str, dict[str, Any]]:
    """The next fire time of each of these workflows that has a schedule, and the schedule's name, by `name_key`."""
    rows = conn.execute(_NEXT_OF, _of(app) | {"keys": [name_key(name) for name in workflows]})
    return {row.workflow_key: {"at": iso(row.next_fire_at), "schedule": row.name} for row in rows}


_WANTING = f"""
{_SHOWN} AND ({STANDINGS["late"]} OR s.error IS NOT NULL OR s.paused_by = 'engine')
ORDER BY s.due_at IS NULL, s.due_at, s.id LIMIT :limit
"""


def schedules_in_trouble(conn: Connection, limit: int = 20, *, app: str | None = None) -> list[dict[str, Any]]:
    """Schedules that want a person: late, unable to start their runs, or paused after failures."""
    rows = conn.execute(text(_WANTING), _of(app) | {"limit": limit}).all()
    return _shape_all(conn, rows)
