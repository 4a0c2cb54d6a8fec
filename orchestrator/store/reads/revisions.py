"""One workflow with its document, and its revisions."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.store.reads.page import Page, iso, number_cursor, page_of
from orchestrator.store.reads.workflows import SHAPE, shape_workflow
from orchestrator.store.workflows import Owner, find_owner, name_key, names_for

_OF = {
    "app": "(w.app_id = :owner_id OR w.group_id = (SELECT group_id FROM apps WHERE id = :owner_id))",
    "group": "w.group_id = :owner_id",
}
_FIND = f"{SHAPE} WHERE w.name_key = :key AND w.deleted_at IS NULL AND {{of}} ORDER BY w.app_id IS NULL LIMIT 1"


def get_workflow(conn: Connection, name: str, *, app: str | None = None, group: str | None = None) -> dict[str, Any]:
    """The workflow an app sees under this name, or a group owns, with its latest `document`; raises `NotFound`."""
    return shape_workflow(row := _found(conn, name, app, group)) | {"document": row.document}


def _found(conn: Connection, name: str, app: str | None, group: str | None) -> Row[Any]:
    owner = find_owner(conn, app, group)
    values = {"key": name_key(name), "owner_id": owner.id}
    row = conn.execute(text(_FIND.format(of=_OF[owner.kind], more=", v.document")), values).first()
    if row is None:
        raise _unknown(conn, owner, name)
    return row


def _unknown(conn: Connection, owner: Owner, name: str) -> NotFound:
    near = did_you_mean(name, names_for(conn, owner))
    return NotFound(f"{owner.kind} '{owner.name}' has no workflow '{name}'{near}")


_LIST = text("""
SELECT number, version, created_at FROM workflow_revisions
WHERE workflow_id = :id AND (CAST(:before AS bigint) IS NULL OR number < :before) ORDER BY number DESC LIMIT :limit
""")


def list_revisions(
    conn: Connection,
    name: str,
    after: str | None = None,
    limit: int = 100,
    *,
    app: str | None = None,
    group: str | None = None,
) -> Page:
    """A page of the revisions of the workflow that `get_workflow` finds, newest first."""
    of = _found(conn, name, app, group)
    rows = conn.execute(_LIST, {"id": of.id, "before": number_cursor(after), "limit": limit + 1}).all()
    return page_of(rows, limit, lambda row: _shape(of, row), lambda row: str(row.number))


_ONE = text("""
SELECT number, version, created_at, document FROM workflow_revisions WHERE workflow_id = :id AND number = :number
""")


def get_revision(
    conn: Connection, name: str, number: int, *, app: str | None = None, group: str | None = None
) -> dict[str, Any]:
    """One revision of the workflow that `get_workflow` finds, with its `document`; raises `NotFound`."""
    of = _found(conn, name, app, group)
    row = conn.execute(_ONE, {"id": of.id, "number": number}).first()
    if row is None:
        raise NotFound(f"workflow '{of.name}' has no revision {number}; the latest is {of.latest_revision}")
    return _shape(of, row) | {"document": row.document}


def _shape(of: Row[Any], row: Row[Any]) -> dict[str, Any]:
    return {
        "workflow": of.name,
        "number": row.number,
        "version": row.version,
        "created_at": iso(row.created_at),
        "latest": row.number == of.latest_revision,
    }
