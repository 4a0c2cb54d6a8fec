"""Owners, workflows and their immutable revisions."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, select, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.ids import new_id
from orchestrator.store.db import Call
from orchestrator.store.tables import apps, groups, workflow_revisions
from orchestrator.store.transition import as_text


def name_key(name: str) -> str:
    """What makes two names the same: case and Unicode form do not count."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


@dataclass(frozen=True, slots=True)
class Owner:
    """An app or a group; a workflow has exactly one."""

    kind: str  # "app" or "group"
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Revision:
    """One immutable stored version of a workflow."""

    id: str
    workflow_id: str
    workflow: str
    number: int
    document: Any


def ensure_app(conn: Connection, name: str) -> Owner:
    """The app of this name, made when it is new."""
    return _ensure(conn, "app", name)


def ensure_group(conn: Connection, name: str) -> Owner:
    """The group of this name, made when it is new."""
    return _ensure(conn, "group", name)


def _ensure(conn: Connection, kind: str, name: str) -> Owner:
    table = apps if kind == "app" else groups
    made = text(
        f"INSERT INTO {table.name} (id, name, name_key) VALUES (:id, :name, :key) ON CONFLICT (name_key) DO NOTHING"
    )
    found = select(table.c.id, table.c.name).where(table.c.name_key == name_key(name))
    row = conn.execute(found).first()
    if row is None:
        conn.execute(made, {"id": new_id(), "name": name, "key": name_key(name)})
        row = conn.execute(found).one()
    return Owner(kind, row.id, row.name)


def is_owner(conn: Connection, kind: str, name: str) -> bool:
    """Whether there is an app, or a group, of this name."""
    table = apps if kind == "app" else groups
    return conn.execute(select(table.c.id).where(table.c.name_key == name_key(name))).first() is not None


def find_app(conn: Connection, name: str) -> Row[Any]:
    """The app's row; raises `NotFound`."""
    row = conn.execute(select(apps).where(apps.c.name_key == name_key(name))).first()
    if row is None:
        raise _unknown_app(conn, name)
    return row


def _unknown_app(conn: Connection, name: str) -> NotFound:
    names = conn.execute(select(apps.c.name).order_by(apps.c.name_key)).scalars().all()
    if not names:
        return NotFound("nothing is registered yet: orchestrator register FILE")
    return NotFound(f"there is no app named '{name}'{did_you_mean(name, names)}")


def join_group(conn: Connection, app: Owner, group: Owner | None) -> None:
    """Make the app a member of the group (of none for None)."""
    conn.execute(apps.update().where(apps.c.id == app.id).values(group_id=group.id if group else None))


_MEMBERS = text("""
UPDATE apps SET group_id = CASE WHEN name_key = ANY(CAST(:keys AS text[])) THEN CAST(:group_id AS uuid) END
WHERE group_id = :group_id OR name_key = ANY(CAST(:keys AS text[])) RETURNING name_key
""")


def set_members(conn: Connection, group: Owner, names: Sequence[str]) -> list[str]:
    """Make these apps, and no others, the group's; the names that no app has."""
    keys = {name_key(name): name for name in names}
    known = set(conn.execute(_MEMBERS, {"keys": list(keys), "group_id": group.id}).scalars())
    return [name for key, name in keys.items() if key not in known]


def set_config(conn: Connection, app: Owner, config_json: str) -> None:
    """Store the app's configuration, JSON text."""
    conn.execute(
        text("UPDATE apps SET config = CAST(:config AS json) WHERE id = :id"), {"id": app.id, "config": config_json}
    )


_LOCK_WORKFLOW = """
INSERT INTO workflows (id, name, name_key, {owner}_id, latest_revision) VALUES (:id, :name, :key, :owner_id, 0)
ON CONFLICT ({owner}_id, name_key) DO UPDATE SET name = workflows.name
RETURNING id, name, latest_revision, pack_id, deleted_at
"""


def lock_workflow(conn: Connection, owner: Owner, name: str) -> Row[Any]:
    """The owner's workflow of this name (id, name, latest_revision, pack_id, deleted_at), made when new, locked."""
    values = {"id": new_id(), "name": name, "key": name_key(name), "owner_id": owner.id}
    return conn.execute(text(_LOCK_WORKFLOW.format(owner=owner.kind)), values).one()


_FIND_OWNED = """
SELECT id, name, latest_revision, pack_id FROM workflows
WHERE {owner}_id = :owner_id AND name_key = :key AND deleted_at IS NULL FOR UPDATE
"""


def lock_owned(conn: Connection, owner: Owner, name: str) -> Row[Any]:
    """The owner's own workflow of this name, locked; raises `NotFound`."""
    values = {"owner_id": owner.id, "key": name_key(name)}
    row = conn.execute(text(_FIND_OWNED.format(owner=owner.kind)), values).first()
    if row is None:
        names = conn.execute(text(_OWNED_NAMES.format(owner=owner.kind)), values).scalars().all()
        raise NotFound(f"{owner.kind} '{owner.name}' has no workflow '{name}'{did_you_mean(name, names)}")
    return row


_OWNED_NAMES = "SELECT name FROM workflows WHERE {owner}_id = :owner_id AND deleted_at IS NULL ORDER BY name_key"
_PLACE = text("UPDATE workflows SET pack_id = :pack_id, deleted_at = NULL WHERE id = :id")
_DELETE = text("UPDATE workflows SET deleted_at = orchestrator_now(), pack_id = NULL WHERE id = :id")


def place_workflow(conn: Connection, workflow_id: str, pack_id: str | None) -> None:
    """The workflow is there, and of this pack (of none for None)."""
    conn.execute(_PLACE, {"id": workflow_id, "pack_id": pack_id})


def delete_workflow(conn: Connection, workflow_id: str) -> None:
    """Nobody sees it any more by its name. Its row and its revisions stay: runs are of them."""
    conn.execute(_DELETE, {"id": workflow_id})


_OPEN_RUNS = text("""
SELECT count(*) FROM (
  SELECT FROM workflow_runs WHERE workflow_id = :id AND status IN ('canceling', 'paused', 'pending', 'running')
  LIMIT :most
) AS open
""")


def count_open_runs(conn: Connection, workflow_id: str, most: int) -> int:
    """How many runs of the workflow have not ended, counted up to `most`."""
    return int(conn.execute(_OPEN_RUNS, {"id": workflow_id, "most": most}).scalar_one())


def find_owner(conn: Connection, app: str | None, group: str | None) -> Owner:
    """The app or the group of this name; raises `NotFound`."""
    if group is None:
        row = find_app(conn, app or "")
        return Owner("app", row.id, row.name)
    found = conn.execute(select(groups).where(groups.c.name_key == name_key(group))).first()
    if found is None:
        names = conn.execute(select(groups.c.name).order_by(groups.c.name_key)).scalars().all()
        raise NotFound(f"there is no group named '{group}'{did_you_mean(group, names)}")
    return Owner("group", found.id, found.name)


_LATEST = text("""
SELECT v.id, v.number, v.content_hash FROM workflows w
JOIN workflow_revisions v ON v.workflow_id = w.id AND v.number = w.latest_revision WHERE w.id = :id
""")


def latest_revision(conn: Connection, workflow_id: str) -> Row[str, int, str] | None:
    """Id, number and hash of the latest revision."""
    return conn.execute(_LATEST, {"id": workflow_id}).first()


def next_number(conn: Connection, workflow_id: str) -> int:
    """The number of the next revision: above the latest, and above those that were imported."""
    highest = select(func.max(workflow_revisions.c.number)).where(workflow_revisions.c.workflow_id == workflow_id)
    return int(conn.execute(highest).scalar() or 0) + 1


_ADD_REVISION = text("""
WITH made AS (
  INSERT INTO workflow_revisions (id, workflow_id, number, version, document, content_hash)
  VALUES (:id, :workflow_id, :number, :version, CAST(:document AS json), :hash)
)
UPDATE workflows SET latest_revision = :number, name = :name WHERE id = :workflow_id
""")


def add_revision(
    conn: Connection, workflow_id: str, name: str, number: int, document: Mapping[str, Any], content_hash: str
) -> str:
    """Store the next revision; its id."""
    values = {"id": new_id(), "workflow_id": workflow_id, "number": number, "version": document.get("version")}
    values |= {"document": as_text(document), "hash": content_hash, "name": name}
    conn.execute(_ADD_REVISION, values)
    return str(values["id"])


# An app's own workflow hides its group's of the same name.
_FIND = text("""
SELECT v.id, w.id AS workflow_id, w.name AS workflow, v.number, v.document
FROM apps a
JOIN workflows w ON w.name_key = :key AND (w.app_id = a.id OR w.group_id = a.group_id) AND w.deleted_at IS NULL
JOIN workflow_revisions v ON v.workflow_id = w.id AND v.number = coalesce(CAST(:number AS int), w.latest_revision)
WHERE a.id = :app_id ORDER BY w.app_id IS NULL LIMIT 1
""")


def find_revision(conn: Connection, app_id: str, name: str, number: int | None = None) -> Revision | None:
    """The latest (or the numbered) revision of the workflow an app sees under this name."""
    row = conn.execute(_FIND, {"app_id": app_id, "key": name_key(name), "number": number}).first()
    return Revision(**row._mapping) if row else None


class Wanted(NamedTuple):
    """A workflow by the name an app sees it under; `number` None is the latest revision."""

    app_key: str
    name_key: str
    number: int | None

    @classmethod
    def of(cls, app: str, name: str, number: int | None = None) -> Wanted:
        return cls(name_key(app), name_key(name), number)


class Found(NamedTuple):
    """Ids of what `find_revision` finds."""

    revision_id: str
    workflow_id: str
    app_id: str


def find_ids(call: Call, wanted: Wanted) -> Found | None:
    """None when there is no such app, workflow or revision."""
    rows = call("SELECT revision_id, workflow_id, app_id FROM orchestrator_find(%s, %s, %s)", wanted)
    return Found(*rows[0]) if rows else None


def get_revision(conn: Connection, app: str, name: str) -> Revision:
    """The latest revision of the workflow the app sees under this name; raises `NotFound` naming a near one."""
    app_id = find_app(conn, app).id
    revision = find_revision(conn, app_id, name)
    if revision is None:
        raise NotFound(f"app '{app}' has no workflow '{name}'{did_you_mean(name, visible_names(conn, app_id))}")
    return revision


_NUMBERED = text("""
SELECT v.id, w.id AS workflow_id, w.name AS workflow, v.number, v.document
FROM workflows w JOIN workflow_revisions v ON v.workflow_id = w.id AND v.number = coalesce(:number, w.latest_revision)
WHERE w.id = :workflow_id
""")


def find_numbered(conn: Connection, workflow_id: str, number: int | None) -> Revision | None:
    """The revision of this number of a workflow; the latest for None."""
    row = conn.execute(_NUMBERED, {"workflow_id": workflow_id, "number": number}).first()
    return Revision(**row._mapping) if row else None


_LOAD = text("""
SELECT v.id, w.id AS workflow_id, w.name AS workflow, v.number, v.document
FROM workflow_revisions v JOIN workflows w ON w.id = v.workflow_id WHERE v.id = :id
""")


def load_revision(conn: Connection, revision_id: str) -> Revision:
    """A revision by id; raises `NotFound`."""
    row = conn.execute(_LOAD, {"id": revision_id}).first()
    if row is None:
        raise NotFound(f"there is no revision {revision_id}")
    return Revision(**row._mapping)


_NAMES = text("""
SELECT DISTINCT w.name FROM apps a JOIN workflows w ON w.app_id = a.id OR w.group_id = a.group_id
WHERE a.id = :app_id AND w.deleted_at IS NULL ORDER BY w.name
""")


_NAMES_OF_GROUP = text("""
SELECT name FROM workflows
WHERE (group_id = :group_id OR app_id IN (SELECT id FROM apps WHERE group_id = :group_id)) AND deleted_at IS NULL
ORDER BY name
""")


def names_for(conn: Connection, owner: Owner) -> list[str]:
    """The names of all workflows that the owner's may run: those its app sees, or any app of its group."""
    if owner.kind == "app":
        return visible_names(conn, owner.id)
    return list(conn.execute(_NAMES_OF_GROUP, {"group_id": owner.id}).scalars())


def visible_names(conn: Connection, app_id: str) -> list[str]:
    """The names of all workflows an app sees."""
    return list(conn.execute(_NAMES, {"app_id": app_id}).scalars())
