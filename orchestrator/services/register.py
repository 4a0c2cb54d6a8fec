"""Register a definition: a new immutable revision of its owner's workflow, unless nothing changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.parse import parse
from orchestrator.domain.validate import warnings
from orchestrator.errors import OrchestratorError, Problem
from orchestrator.services.engine import Engine
from orchestrator.store import events, workers, workflows
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
    engine: Engine, document: Mapping[str, Any], *, app: str | None = None, group: str | None = None, actor: str = "cli"
) -> Registered:
    """Validate and store a document for an app (the configured one by default) or a group.

    Raises `InvalidDefinition` with all problems, `settings.documents` among what is asked of it.
    """
    definition = parse(document, limits=engine.settings.documents)
    if app and group:
        raise OrchestratorError("a workflow has exactly one owner: give an app or a group, not both")
    with engine.db.transaction() as conn:
        owner = workflows.ensure_group(conn, group) if group else workflows.ensure_app(conn, app or engine.settings.app)
        number, revision_id, created = _store(conn, owner, definition.name, document)
        if created:
            told = {"revision": number, "owner": f"{owner.kind} {owner.name}"}
            events.audit(conn, actor, "register", "workflow", definition.name, data=told)
        functions = _known_functions(engine, conn)
    found = tuple(warnings(definition, functions=functions))
    return Registered(definition.name, number, revision_id, owner, created, found)


def _known_functions(engine: Engine, conn: Connection) -> Collection[str] | None:
    """Those that workers announced, and this process's own; None, all may be, before a worker has announced any."""
    announced = workers.announced_functions(conn)
    return announced | set(engine.functions.names) if announced else None


def _store(conn: Connection, owner: Owner, name: str, document: Mapping[str, Any]) -> tuple[int, str, bool]:
    content_hash = hash_document(document)
    workflow = workflows.lock_workflow(conn, owner, name)
    latest = workflows.latest_revision(conn, workflow.id)
    if latest is not None and latest.content_hash == content_hash:
        return latest.number, latest.id, False
    number = workflow.latest_revision + 1
    return number, workflows.add_revision(conn, workflow.id, name, number, document, content_hash), True


def hash_document(document: Mapping[str, Any]) -> str:
    """SHA-256 of the document's canonical JSON; the order of a map's keys does not count."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
