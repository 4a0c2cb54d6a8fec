"""Rows of runs, read as they are written down: a portion at a time, whatever there is of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import JSON, Column, Connection, DateTime, Table, text
from sqlalchemy.dialects.postgresql import ARRAY

from orchestrator.domain.archive import IMPORTED, TABLES
from orchestrator.domain.blobs import loads
from orchestrator.store.reads.page import iso
from orchestrator.store.tables import metadata

PORTION = 500
# Who takes nothing of what is read for so long is not waited for: while the snapshot is open, nothing is cleaned up.
READER_SECONDS = 300.0
# Numbered anew where they come in; the workflow is found by its revision, and the app by its name.
_LEFT_OUT = {
    "workflow_runs": ("workflow_id", "app_id"),
    "workflow_run_steps": ("app_id",),
    "workflow_signals": ("id",),
    "step_logs": ("id",),
    "run_events": ("id",),
    "workflow_journal": ("seq",),
    "workflow_children": ("workflow_id",),
}
_WORKER = "coalesce((SELECT w.host || ':' || w.pid FROM workers w WHERE w.id = t.worker_id), t.worker_id)"


def columns_of(kind: str) -> dict[str, Column[Any]]:
    """The columns that a line of this kind may have."""
    table = metadata.tables[TABLES[kind]]
    left_out = _LEFT_OUT.get(table.name, ())
    return {column.name: column for column in table.columns if column.name not in left_out}


def _select(kind: str, more: str = "") -> str:
    """JSON as its text, so that a null in it is told from none."""
    columns = ", ".join(
        f"CAST(t.{name} AS text) AS {name}" if isinstance(column.type, JSON)
        else f"{_WORKER} AS {name}" if name == "worker_id" else f"t.{name}"
        for name, column in columns_of(kind).items()
    )  # fmt: skip
    return f"SELECT {columns}{more} FROM {TABLES[kind]} t"


def snapshot(conn: Connection) -> None:
    """From now on the transaction sees the database as it is now, and reads portions in the order of their index: not
    all rows, sorted, for each. It is broken off when nothing is asked for `READER_SECONDS`."""
    conn.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    conn.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = {round(READER_SECONDS * 1000)}")
    conn.exec_driver_sql("; ".join(f"SET LOCAL enable_{way} = off" for way in ("seqscan", "bitmapscan", "sort")))


_TREE = text("""
SELECT r.id, r.revision_id, a.name AS app, r.status FROM workflow_runs r JOIN apps a ON a.id = r.app_id
WHERE r.root_id = :root_id ORDER BY r.depth, r.id
""")


def tree_of(conn: Connection, root_id: str) -> list[Any]:
    """Id, revision, app and status of each run of a tree, the topmost first."""
    return list(conn.execute(_TREE, {"root_id": root_id}))


_ROOTS = text("SELECT DISTINCT root_id FROM workflow_runs WHERE id = ANY(CAST(:ids AS uuid[])) ORDER BY root_id DESC")


def roots_of(conn: Connection, ids: Sequence[str]) -> list[str]:
    """The topmost runs above these, newest first."""
    return [str(id) for id in conn.execute(_ROOTS, {"ids": list(ids)}).scalars()]


_REVISION = text("""
SELECT v.id, w.name AS workflow, v.number, v.version, v.document, v.content_hash, v.created_at,
  CASE WHEN w.app_id IS NULL THEN 'group' ELSE 'app' END AS owner_kind, coalesce(a.name, g.name) AS owner_name
FROM workflow_revisions v JOIN workflows w ON w.id = v.workflow_id LEFT JOIN apps a ON a.id = w.app_id
LEFT JOIN groups g ON g.id = w.group_id WHERE v.id = :id
""")


def revision_of(conn: Connection, revision_id: str) -> dict[str, Any]:
    """A revision, with whose it is."""
    row = conn.execute(_REVISION, {"id": revision_id}).one()
    told = {name: getattr(row, name) for name in ("workflow", "number", "version", "document", "content_hash")}
    owner = {"kind": row.owner_kind, "name": row.owner_name}
    return {"id": str(row.id), "owner": owner, **told, "created_at": iso(row.created_at)}


_IMPORTED = text("SELECT EXISTS (SELECT FROM run_events WHERE run_id = :id AND kind = :kind)")


def was_imported(conn: Connection, run_id: str) -> bool:
    """Whether the run came from elsewhere."""
    return bool(conn.execute(_IMPORTED, {"id": run_id, "kind": IMPORTED}).scalar_one())


def run_row(conn: Connection, run_id: str) -> dict[str, Any]:
    """The run's own row."""
    return _shape("run", conn.execute(text(f"{_select('run')} WHERE t.id = :id"), {"id": run_id}).one()._mapping)


_STEPS = text(f"{_select('step')} WHERE t.run_id = :id AND t.position > :after ORDER BY t.position LIMIT {PORTION}")
_ATTEMPTS = text(f"""
SELECT t.* FROM unnest(CAST(:ids AS uuid[])) WITH ORDINALITY AS s (id, n)
JOIN LATERAL ({_select("attempt")} WHERE t.step_id = s.id) t ON true ORDER BY s.n, t.number
""")


def steps_of(conn: Connection, run_id: str) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Portions of the run's steps and items, each with the attempts of these."""
    after = -1
    while True:
        rows = conn.execute(_STEPS, {"id": run_id, "after": after}).all()
        if rows:
            attempts = conn.execute(_ATTEMPTS, {"ids": [str(row.id) for row in rows]})
            yield [_shape("step", r._mapping) for r in rows], [_shape("attempt", a._mapping) for a in attempts]
        if len(rows) < PORTION:
            return
        after = rows[-1].position


# By the column that says in which order they came.
_ORDERED = {"journal": "seq", "signal": "id", "log": "id", "event": "id"}
_PARTS = {
    kind: text(
        f"{_select(kind, f', t.{by} AS place')}"
        f" WHERE t.run_id = :id AND t.{by} > :after ORDER BY t.{by} LIMIT {PORTION}"
    )
    for kind, by in _ORDERED.items()
}


def parts_of(conn: Connection, kind: str, run_id: str) -> Iterator[dict[str, Any]]:
    """The run's rows of a kind, in the order in which they were written."""
    after = -1
    while True:
        rows = conn.execute(_PARTS[kind], {"id": run_id, "after": after}).all()
        for row in rows:
            yield _shape(kind, {name: value for name, value in row._mapping.items() if name != "place"})
        if len(rows) < PORTION:
            return
        after = rows[-1].place


_CHILDREN = text(f"""
{_select("child")} WHERE t.parent_run_id = :id ORDER BY t.parent_step_id, t.attempt, t.child_run_id
""")


def children_of(conn: Connection, run_id: str) -> list[dict[str, Any]]:
    """The links from the run's steps to the runs they started."""
    return [_shape("child", row._mapping) for row in conn.execute(_CHILDREN, {"id": run_id})]


_OF_CHILD = text("""
SELECT DISTINCT ON (k.parent_step_id) k.parent_step_id AS step_id, c.revision_id
FROM workflow_children k JOIN workflow_runs c ON c.id = k.child_run_id
WHERE k.parent_step_id = ANY(CAST(:ids AS uuid[])) ORDER BY k.parent_step_id, k.attempt DESC
""")


def child_revisions(conn: Connection, step_ids: Sequence[str]) -> dict[str, str]:
    """By step that has started runs, the revision of the last of them."""
    return {str(row.step_id): str(row.revision_id) for row in conn.execute(_OF_CHILD, {"ids": list(step_ids)})}


def _shape(kind: str, row: Mapping[Any, Any]) -> dict[str, Any]:
    """What there is of the row, as JSON."""
    columns = columns_of(kind)
    return {name: _value(columns[name], value) for name, value in row.items() if value is not None}


def _value(column: Column[Any], value: Any) -> Any:
    if isinstance(column.type, JSON):
        return loads(value)
    if isinstance(column.type, DateTime):
        return iso(value)
    return list(value) if isinstance(column.type, ARRAY) else value


def table_of(kind: str) -> Table:
    """The table whose rows the lines of this kind are."""
    return metadata.tables[TABLES[kind]]
