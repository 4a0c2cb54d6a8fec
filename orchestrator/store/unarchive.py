"""Rows of runs that come from another database, as they were there: nobody here has started them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import JSON, Connection, text
from sqlalchemy.dialects import postgresql

from orchestrator.domain.archive import IMPORTED, TABLES, TAG
from orchestrator.ids import new_id
from orchestrator.store.archive import columns_of, table_of
from orchestrator.store.transition import as_text
from orchestrator.store.workflows import Owner, add_revision, ensure_app, ensure_group, lock_workflow, next_number

Row = dict[str, Any]
_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]


def types_of(kind: str) -> dict[str, str]:
    """Column and type of what a line of this kind may say."""
    return {name: str(column.type.compile(_DIALECT)) for name, column in columns_of(kind).items()}


_KNOWN = text("SELECT id FROM workflow_runs WHERE id = ANY(CAST(:ids AS uuid[]))")


def known_runs(conn: Connection, ids: Sequence[str]) -> set[str]:
    """Those of the runs that are here."""
    return {str(id) for id in conn.execute(_KNOWN, {"ids": list(ids)}).scalars()}


_SAME = text("""
SELECT id, number FROM workflow_revisions WHERE workflow_id = :workflow_id AND content_hash = :hash
ORDER BY number <> :number, number LIMIT 1
""")
_TAKEN = text("SELECT EXISTS (SELECT FROM workflow_revisions WHERE workflow_id = :workflow_id AND number = :number)")
_ADD = text("""
INSERT INTO workflow_revisions (id, workflow_id, number, version, document, content_hash, created_at)
VALUES (:id, :workflow_id, :number, :version, CAST(:document AS json), :hash, CAST(:created_at AS timestamptz))
""")
_DATE = text("UPDATE workflow_revisions SET created_at = CAST(:created_at AS timestamptz) WHERE id = :id")


def place_revision(conn: Connection, told: Row) -> tuple[str, str, bool]:
    """Ids of the workflow and the revision that the line tells of, made where they are not here; and whether it was.

    A workflow that is here keeps its latest revision: what is new gets the number it had, or a free one.
    """
    owner = _owner(conn, told["owner"])
    workflow = lock_workflow(conn, owner, told["workflow"])
    number, document = told["number"], told["document"]
    values = {"workflow_id": workflow.id, "number": number, "hash": told["content_hash"]}
    same = conn.execute(_SAME, values).first()
    if same is not None:
        return workflow.id, str(same.id), False
    if workflow.latest_revision == 0:
        id = add_revision(conn, workflow.id, told["workflow"], number, document, told["content_hash"])
        conn.execute(_DATE, {"id": id, "created_at": told["created_at"]})
        return workflow.id, id, True
    if conn.execute(_TAKEN, values).scalar_one():
        values["number"] = next_number(conn, workflow.id)
    id = new_id()
    more = {"id": id, "version": told.get("version"), "document": as_text(document), "created_at": told["created_at"]}
    conn.execute(_ADD, values | more)
    return workflow.id, id, True


def _owner(conn: Connection, told: Mapping[str, str]) -> Owner:
    return (ensure_group if told["kind"] == "group" else ensure_app)(conn, told["name"])


_JOIN = text("""
UPDATE apps SET group_id = g.id FROM groups g
WHERE apps.id = :app_id AND apps.group_id IS NULL AND g.id = (SELECT group_id FROM workflows WHERE id = :workflow_id)
""")


def app_of(conn: Connection, name: str, workflow_id: str) -> str:
    """The id of a run's app, made where it is not here; it sees the workflow unless it is of another group."""
    app_id = ensure_app(conn, name).id
    conn.execute(_JOIN, {"app_id": app_id, "workflow_id": workflow_id})
    return app_id


_WORKFLOW = text("SELECT workflow_id FROM workflow_runs WHERE id = CAST(:id AS uuid)")


def workflow_of(conn: Connection, run_id: str) -> str | None:
    """The workflow of a run; None for one that is not here."""
    return conn.execute(_WORKFLOW, {"id": run_id}).scalar()


_KEY_TAKEN = text("""
SELECT EXISTS (SELECT FROM workflow_runs
  WHERE workflow_id = :workflow_id AND app_id = :app_id AND idempotency_key = :idempotency_key)
""")


def key_is_taken(conn: Connection, run: Row) -> bool:
    """Whether a run that is here has the idempotency key of this one."""
    return bool(
        conn.execute(_KEY_TAKEN, {n: run[n] for n in ("workflow_id", "app_id", "idempotency_key")}).scalar_one()
    )


# A link to a run that is not here is left out, and so is a child's id that another run here has.
_LINKS = """
WHERE EXISTS (SELECT FROM workflow_runs c WHERE c.id = t.child_run_id) ON CONFLICT DO NOTHING
"""


PutAway = Callable[[Row, str, str], str]


def add_rows(
    conn: Connection,
    kind: str,
    rows: Sequence[Row],
    more: Mapping[str, str] | None = None,
    put_away: PutAway = lambda row, name, text: text,
) -> None:
    """Insert rows of one kind, in their order; `more` has the types of columns beside those that lines may say.
    `put_away` gives what is stored in the place of a column's JSON text."""
    types = types_of(kind) | dict(more or {})
    names = [name for name in types if any(name in row for row in rows)]
    table = table_of(kind)
    is_json = {name for name in names if isinstance(table.columns[name].type, JSON)}
    given = [{n: put_away(row, n, as_text_of(v)) if n in is_json else v for n, v in row.items()} for row in rows]
    defined = ", ".join(f"{name} {'text' if name in is_json else types[name]}" for name in names)
    read = ", ".join(f"CAST(t.{name} AS json)" if name in is_json else f"t.{name}" for name in names)
    insert = f"INSERT INTO {TABLES[kind]} ({', '.join(names)}) SELECT {read}"
    after = _LINKS if kind == "child" else ""
    conn.execute(
        text(f"{insert} FROM json_to_recordset(CAST(:rows AS json)) AS t ({defined}) {after}"),
        {"rows": json.dumps(given)},
    )


def as_text_of(value: Any) -> str:
    """JSON text, of null too."""
    return json.dumps(value, ensure_ascii=False)


_MARK_RUN = text("""
UPDATE workflow_runs SET tags = array_append(tags, CAST(:tag AS text)) WHERE id = :id AND NOT (:tag = ANY (tags))
""")
_MARK = text("INSERT INTO run_events (run_id, kind, data) VALUES (:id, :kind, CAST(:data AS json))")


def mark_imported(conn: Connection, run_id: str, told: Mapping[str, Any]) -> None:
    """Let everybody see that the run came from elsewhere."""
    conn.execute(_MARK_RUN, {"id": run_id, "tag": TAG})
    conn.execute(_MARK, {"id": run_id, "kind": IMPORTED, "data": as_text(told)})
