"""Runs, newest first, and one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, text

from orchestrator.domain.near import did_you_mean
from orchestrator.domain.states import RunStatus
from orchestrator.domain.where import Where
from orchestrator.errors import NotFound, unknown_run
from orchestrator.ids import is_id
from orchestrator.store.item_columns import STEPS_ONLY
from orchestrator.store.reads.page import Page, id_cursor, iso
from orchestrator.store.reads.schedule_ids import schedule_ids
from orchestrator.store.reads.secrets import RunSecrets, load_schemas, secrets_of
from orchestrator.store.reads.shown import SHOWN
from orchestrator.store.reads.where import contained, containing, where_secret
from orchestrator.store.reads.whole import Read, read_whole
from orchestrator.store.workflows import find_app, name_key

# Ids carry the time they were made at, by the clock of the process that started the run. created_at is the
# database's: a bound on ids this much wider never cuts off a run that a bound on created_at keeps.
_CLOCK_SLACK = timedelta(days=1)
_LAST_MILLISECOND = (1 << 48) - 1


@dataclass(frozen=True, slots=True)
class RunFilters:
    """All given ones must hold. Names in any case; `error` is a part of the error's message, in any case.

    `created_after` is inclusive, `created_before` exclusive. A workflow's name may be known to several owners.
    `children_of`: a run's id; `roots_only`: no run that a step of another started; `ids`: only of these; `schedule`:
    started by the schedule of this name or id. `where`: values of the input, which are looked for in inputs of up to
    1,000 bytes; secret ones find nothing.
    """

    workflow: str | None = None
    statuses: Sequence[RunStatus] = ()
    app: str | None = None
    tags: Sequence[str] = ()
    created_after: datetime | None = None
    created_before: datetime | None = None
    error: str | None = None
    children_of: str | None = None
    roots_only: bool = False
    ids: Sequence[str] = ()
    schedule: str | None = None
    where: Sequence[Where] = ()


# The columns of a run's row by their names.
COLUMNS = {
    "id": "r.id",
    "revision_id": "r.revision_id",
    "workflow": "w.name",
    "revision": "v.number",
    "app": "a.name",
    "status": "r.status",
    "input": "r.input",
    "output": "r.output",
    "error": "r.error",
    "tags": "r.tags",
    "created_at": "r.created_at",
    "started_at": "r.started_at",
    "finished_at": "r.finished_at",
    "pause_reason": "r.pause_reason",
    "root_id": "r.root_id",
    "parent_run_id": "r.parent_run_id",
    "parent_step": "ps.name",
    "parent_item": "ps.item_index",
    "depth": "r.depth",
    "rerun_of_id": "r.rerun_of_id",
    "schedule_id": "sf.schedule_id",
    "schedule": "sc.name",
    "fire_at": "sf.fire_at",
}
SHAPE = f"""
SELECT {", ".join(f"{column} AS {name}" for name, column in COLUMNS.items())}
FROM workflow_runs r JOIN workflow_revisions v ON v.id = r.revision_id JOIN workflows w ON w.id = v.workflow_id
JOIN apps a ON a.id = r.app_id LEFT JOIN workflow_run_steps ps ON ps.id = r.parent_step_id
LEFT JOIN schedule_fires sf ON sf.run_id = r.id LEFT JOIN schedules sc ON sc.id = sf.schedule_id
"""
_ONE = text(f"{SHAPE} WHERE r.id = :id")
_THESE = text(f"{SHAPE} WHERE r.id = ANY(CAST(:ids AS uuid[])) ORDER BY r.id DESC")


def get_run(conn: Connection, run_id: str, read: Read | None = None) -> dict[str, Any]:
    """The run as docs/cli.md shapes it, its values as `read` gives them; raises `NotFound`."""
    rows = conn.execute(_ONE, {"id": run_id}).all() if is_id(run_id) else []
    if not rows:
        raise unknown_run(run_id)
    return _shape_all(conn, [read_whole(row, read) for row in rows])[0]


_APP = text("SELECT a.name FROM workflow_runs r JOIN apps a ON a.id = r.app_id WHERE r.id = :id")


def run_app(conn: Connection, run_id: str) -> str:
    """The app a run is of; raises `NotFound`."""
    name = conn.execute(_APP, {"id": run_id}).scalar() if is_id(run_id) else None
    if name is None:
        raise unknown_run(run_id)
    return str(name)


def list_runs(conn: Connection, filters: RunFilters, after: str | None = None, limit: int = 50) -> Page:
    """A page of runs, newest first. Raises `NotFound` for an app or workflow nobody has registered."""
    ids = find_ids(conn, filters, id_cursor(after), limit + 1)
    if not ids:
        return Page([])
    rows = conn.execute(_THESE, {"ids": ids[:limit]}).all()
    return Page(_shape_all(conn, rows), str(ids[limit - 1]) if len(ids) > limit else None)


def find_ids(
    conn: Connection, filters: RunFilters, after: str | None, limit: int, *, before: str | None = None
) -> list[str]:
    """The ids of runs, newest first, from after the id `after` on; with `before` those that come last before it."""
    if before is None and (filters.tags or filters.error or filters.where):
        found = _find_near(conn, filters, after, limit)
        if found is not None:
            return found
    conditions, values = conditions_of(conn, filters, after, before)
    ids = _find(conn, filters, conditions, values, limit, newest_first=before is None, tagged=bool(filters.tags))
    return ids if before is None else ids[::-1]


_NEAR = 20_000
_NTH = text("""
SELECT id FROM workflow_runs WHERE CAST(:after AS uuid) IS NULL OR id < :after ORDER BY id DESC OFFSET :near LIMIT 1
""")


def _find_near(conn: Connection, filters: RunFilters, after: str | None, limit: int) -> list[str] | None:
    """What is found among the next runs, when it is enough: what occurs often is found there, whatever is asked."""
    end = conn.execute(_NTH, {"after": after, "near": _NEAR}).scalar()
    if end is None:
        return None
    ids = find_ids_down_to(conn, filters, after, end, limit)
    return ids if len(ids) == limit else None


def find_ids_down_to(conn: Connection, filters: RunFilters, after: str | None, end: str, limit: int) -> list[str]:
    """What `find_ids` gives of the runs that are newer than `end`."""
    conditions, values = conditions_of(conn, filters, after, end)
    return _find(conn, filters, conditions, values, limit)


def _find(
    conn: Connection,
    filters: RunFilters,
    where: str,
    values: dict[str, Any],
    limit: int,
    *,
    newest_first: bool = True,
    tagged: bool = False,
) -> list[str]:
    order = "r.id DESC" if newest_first else "r.id"
    parts = {"where": where, "order": order, "outer": order.replace("r.", "f.")}
    parts["runs"] = _TAGGED if tagged else "workflow_runs"
    if not tagged and len(values.get("schedules", ())) == 1:
        parts |= {"runs": _SCHEDULED, "where": where.replace(_CONDITIONS["schedules"], "true")}
    statement = _FIND if filters.workflow is None else _FIND_OF
    if filters.workflow is not None:
        values["workflows"] = workflow_ids(conn, filters.workflow)
        if filters.where:
            parts |= {
                "where": f"{where} AND {_IN_WORKFLOW}",
                "order": order.replace("r.id", "r.workflow_id") + f", {order}",
            }
            values |= {"first": str(UUID(int=0)), "last": str(UUID(int=(1 << 128) - 1))}
    found = conn.execute(text(statement.format(**parts)), values | {"limit": limit})
    return [str(id) for id in found.scalars()]


_STATUSES = text("SELECT id, status FROM workflow_runs WHERE id = ANY(CAST(:ids AS uuid[])) ORDER BY id DESC")


def find_statuses(conn: Connection, filters: RunFilters, after: str | None, limit: int) -> list[tuple[str, RunStatus]]:
    """The ids that `find_ids` gives, each with the run's status."""
    rows = conn.execute(_STATUSES, {"ids": find_ids(conn, filters, after, limit)})
    return [(str(row.id), RunStatus(row.status)) for row in rows]


# What seldom occurs is found by its index; asked for the newest, the planner would rather read all runs in order.
# The index of tags holds runs that have some.
_TAGGED = "(SELECT * FROM workflow_runs WHERE tags @> CAST(:tags AS text[]) AND tags <> '{}' OFFSET 0)"
# Those of one schedule, in the order of its index of them: they may be rare, or all be old.
_SCHEDULED = """(SELECT n.* FROM schedule_fires f JOIN workflow_runs n ON n.id = f.run_id
  WHERE f.schedule_id = (CAST(:schedules AS uuid[]))[1] AND f.run_id IS NOT NULL)"""
_FIND = "SELECT r.id FROM {runs} r WHERE {where} ORDER BY {order} LIMIT :limit"
# One index probe a workflow, however many owners use the name.
_FIND_OF = """
SELECT f.id FROM unnest(CAST(:workflows AS uuid[])) AS w (id), LATERAL (
  SELECT r.id FROM {runs} r WHERE r.workflow_id = w.id AND {where} ORDER BY {order} LIMIT :limit) f
ORDER BY {outer} LIMIT :limit
"""
# A value that occurs often, but not in this workflow, is looked for among its runs alone: the planner may think it
# shorter to look through all runs in their order.
_IN_WORKFLOW = "(r.workflow_id, r.id) BETWEEN (w.id, CAST(:first AS uuid)) AND (w.id, CAST(:last AS uuid))"
_CONDITIONS = {
    "statuses": "r.status = ANY(:statuses)",
    "app_id": "r.app_id = :app_id",
    "tags": "r.tags @> CAST(:tags AS text[])",
    "created_after": "r.created_at >= :created_after",
    "created_before": "r.created_at < :created_before",
    "lowest": "r.id >= CAST(:lowest AS uuid)",
    "highest": "r.id <= CAST(:highest AS uuid)",
    "error": "r.error IS NOT NULL AND r.error ->> 'message' ILIKE :error",
    "children_of": "r.parent_run_id = CAST(:children_of AS uuid)",
    "roots_only": "r.parent_run_id IS NULL AND :roots_only",
    "ids": "r.id = ANY(CAST(:ids AS uuid[]))",
    "schedules": """r.id IN (SELECT f.run_id FROM schedule_fires f
      WHERE f.schedule_id = ANY(CAST(:schedules AS uuid[])) AND f.run_id IS NOT NULL)""",
    "after": "r.id < CAST(:after AS uuid)",
    "before": "r.id > CAST(:before AS uuid)",
}


def conditions_of(
    conn: Connection, filters: RunFilters, after: str | None = None, before: str | None = None
) -> tuple[str, dict[str, Any]]:
    """All but the workflow's as SQL over `workflow_runs r`, and its values; raises `NotFound` for the app."""
    values: dict[str, Any] = {
        "statuses": [status.value for status in filters.statuses] or None,
        "app_id": find_app(conn, filters.app).id if filters.app is not None else None,
        "tags": list(filters.tags) or None,
        "created_after": filters.created_after,
        "created_before": filters.created_before,
        "lowest": id_at(filters.created_after, -_CLOCK_SLACK, "0") if filters.created_after else None,
        "highest": id_at(filters.created_before, _CLOCK_SLACK, "f") if filters.created_before else None,
        "error": f"%{like(filters.error)}%" if filters.error else None,
        "children_of": filters.children_of,
        "roots_only": filters.roots_only or None,
        "ids": [id for id in filters.ids if is_id(id)] if filters.ids else None,
        "schedules": schedule_ids(conn, filters.schedule, filters.app) if filters.schedule is not None else None,
        "after": after,
        "before": before,
    }
    given = {name: value for name, value in values.items() if value is not None}
    parts = [_CONDITIONS[name] for name in given]
    if filters.where:
        hidden = where_secret(conn, filters.where, workflow_ids(conn, filters.workflow) if filters.workflow else None)
        parts += [containing(filters.where), "r.revision_id <> ALL(CAST(:hidden AS uuid[]))"]
        given |= {"hidden": hidden, **contained(filters.where)}
    return " AND ".join(parts) or "true", given


def id_at(at: datetime, slack: timedelta = timedelta(), fill: str = "0") -> str:
    """The lowest (`fill` 0) or highest (f) id of the moment `at` moved by `slack`."""
    milliseconds = int(at.astimezone(UTC).timestamp() * 1000) + int(slack.total_seconds() * 1000)
    digits = f"{min(max(milliseconds, 0), _LAST_MILLISECOND):012x}".ljust(32, fill)
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def like(text: str) -> str:
    """`text` as a part of a LIKE pattern that means nothing but itself."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


_WORKFLOWS = text("SELECT id FROM workflows WHERE name_key = :key ORDER BY id")


def workflow_ids(conn: Connection, name: str) -> list[str]:
    """Those of every owner; raises `NotFound` naming a near one."""
    found = [str(id) for id in conn.execute(_WORKFLOWS, {"key": name_key(name)}).scalars()]
    if found:
        return found
    names = conn.execute(text("SELECT DISTINCT name FROM workflows ORDER BY name")).scalars().all()
    raise NotFound(f"there is no workflow '{name}'{did_you_mean(name, names)}")


def _shape_all(conn: Connection, rows: Sequence[Any]) -> list[dict[str, Any]]:
    schemas = load_schemas(conn, [row.revision_id for row in rows])
    counts = count_steps(conn, [row.id for row in rows])
    return [
        shape_run(row, secrets_of(schemas.get(str(row.revision_id)), row.input), counts[str(row.id)]) for row in rows
    ]


def shape_run(row: Any, secrets: RunSecrets, counts: Mapping[str, int]) -> dict[str, Any]:
    """A run as every interface shows it."""
    return {
        "id": str(row.id),
        "workflow": row.workflow,
        "revision": row.revision,
        "app": row.app,
        "status": row.status,
        "input": secrets.show_input(row.input),
        "output": secrets.show_output(row.output),
        "error": secrets.show(row.error),
        "tags": list(row.tags),
        "created_at": iso(row.created_at),
        "started_at": iso(row.started_at),
        "finished_at": iso(row.finished_at),
        "paused": row.status == RunStatus.PAUSED,
        "pause_reason": row.pause_reason,
        "root_id": str(row.root_id),
        "parent_run_id": str(row.parent_run_id) if row.parent_run_id else None,
        "depth": row.depth,
        "counts": dict(counts),
        "parent_step": row.parent_step,
        "parent_item": row.parent_item,
        "rerun_of": str(row.rerun_of_id) if row.rerun_of_id else None,
        "schedule": _schedule(row),
    }


def _schedule(row: Any) -> dict[str, Any] | None:
    if row.schedule is None:
        return None
    return {"id": str(row.schedule_id), "name": row.schedule, "fire_at": iso(row.fire_at)}


_COUNTS = text(f"""
SELECT run_id, status, count(*) AS steps FROM {SHOWN} s
WHERE run_id = ANY(CAST(:ids AS uuid[])) AND {STEPS_ONLY} GROUP BY run_id, status ORDER BY run_id, status
""")


def count_steps(conn: Connection, run_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """How many steps of each of these runs are in each status that occurs."""
    counts: dict[str, dict[str, int]] = {str(id): {} for id in run_ids}
    for row in conn.execute(_COUNTS, {"ids": list(counts)}):
        counts[str(row.run_id)][row.status] = row.steps
    return counts
