"""Register a definition: a new immutable revision of its owner's workflow, unless nothing changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.definition import Definition
from orchestrator.domain.parse import parse
from orchestrator.domain.validate import warnings
from orchestrator.errors import Conflict, Problem
from orchestrator.services.engine import Engine
from orchestrator.services.owners import new_owner
from orchestrator.store import events, packs, workers, workflows
from orchestrator.store.workflows import Owner


@dataclass(frozen=True, slots=True)
class Registered:
    """`created` is False when the document equals the latest revision. `warnings`: see `domain.validate`."""

    workflow: str
    revision: int
    revision_id: str
    owner: Owner
    created: bool
    warnings: tuple[Problem, ...]


def register(
    engine: Engine,
    document: Mapping[str, Any],
    *,
    app: str | None = None,
    group: str | None = None,
    force: bool = False,
    actor: str = "cli",
) -> Registered:
    """Validate and store a document for an app (the configured one by default) or a group.

    Raises `InvalidDefinition` with all problems, `settings.documents` among what is asked of it, and without `force`
    `Conflict` for a new revision of a workflow that is of a pack.
    """
    definition = parse(document, limits=engine.settings.documents)
    return store(engine, definition, document, app=app, group=group, force=force, actor=actor)


def store(
    engine: Engine,
    definition: Definition,
    document: Mapping[str, Any],
    *,
    app: str | None,
    group: str | None,
    force: bool,
    actor: str,
) -> Registered:
    """The same of a document that is valid, and says this."""
    with engine.db.transaction() as conn:
        owner = new_owner(engine, conn, app, group)
        row = workflows.lock_workflow(conn, owner, definition.name)
        number, revision_id, created = store_document(conn, row, definition.name, document)
        if created and row.pack_id is not None and not force:
            pack = packs.pack_name(conn, row.pack_id)
            raise Conflict(f"workflow '{row.name}' is of the pack '{pack}': upgrade that, or use force")
        if row.deleted_at is not None:
            workflows.place_workflow(conn, row.id, None)
        if created:
            told = {"revision": number, "owner": f"{owner.kind} {owner.name}"}
            events.audit(conn, actor, "register", "workflow", definition.name, data=told)
        functions, names = known_functions(engine, conn), workflows.names_for(conn, owner)
    found = tuple(warnings(definition, functions=functions, workflows=names))
    return Registered(definition.name, number, revision_id, owner, created, found)


def known_functions(engine: Engine, conn: Connection) -> Collection[str] | None:
    """Those that workers announced, and this process's own; None, all may be, before a worker has announced any."""
    announced = workers.announced_functions(conn)
    return announced | set(engine.functions.names) if announced else None


def store_document(
    conn: Connection, workflow: Row[Any], name: str, document: Mapping[str, Any]
) -> tuple[int, str, bool]:
    """Store a document as the next revision of a locked workflow, unless it equals the latest: number, id, if new."""
    content_hash = hash_document(document)
    latest = workflows.latest_revision(conn, workflow.id)
    if latest is not None and latest.content_hash == content_hash:
        return latest.number, latest.id, False
    number = workflows.next_number(conn, workflow.id)
    return number, workflows.add_revision(conn, workflow.id, name, number, document, content_hash), True


def hash_document(document: Mapping[str, Any]) -> str:
    """SHA-256 of the document's canonical JSON; the order of a map's keys does not count."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
