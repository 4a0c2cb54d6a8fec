"""Make webhooks, switch them off and on, give them new secrets, remove them. A secret is shown once."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.expressions import compile_template
from orchestrator.domain.signatures import GITHUB, SCHEMES, TIMED
from orchestrator.domain.values import storable
from orchestrator.errors import Conflict, ExpressionError, InvalidInput, Problem, UnstorableValue
from orchestrator.services.engine import Engine
from orchestrator.services.seal import Seal
from orchestrator.store import events, hooks, workflows
from orchestrator.store.hooks import NewHook

BODY = "{{ body }}"
SCOPE = ("body", "headers", "query")
_MOST_BYTES = 64 << 10  # of the templates


@dataclass(frozen=True, slots=True)
class HookSpec:
    """What a hook does: start `workflow`, or send `event` to the run whose id the template `run` gives.

    `input` (the run's, or the event's payload), `run` and `idempotency_key` are templates over body, headers and query.
    """

    workflow: str | None = None
    event: str | None = None
    run: str | None = None
    scheme: str = TIMED
    input: Any = BODY
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Secret:
    """`secret` is to be shown now, and cannot be had again."""

    id: str
    name: str
    secret: str


def create_hook(
    engine: Engine, seal: Seal, name: str, spec: HookSpec, *, app: str | None = None, actor: str = "cli"
) -> Secret:
    """Make a hook of the app (the configured one by default).

    Raises `InvalidInput` with all problems, `NotFound` for the app or the workflow, and `Conflict` when the app has a
    hook of this name.
    """
    problems = list(_problems(name, spec))
    if problems:
        raise InvalidInput(problems, "the hook is invalid")
    secret = _new_secret()
    with engine.db.transaction() as conn:
        owner = workflows.find_owner(conn, app or engine.settings.app, None)
        if spec.workflow is not None:
            workflows.get_revision(conn, owner.name, spec.workflow)
        new = _row(name, spec, owner.id, seal.close(secret), actor)
        id = hooks.insert_hook(conn, new)
        if id is None:
            raise Conflict(f"app '{owner.name}' has a hook '{name}' already")
        told = {"hook_id": id, "app": owner.name, "workflow": spec.workflow, "event": spec.event}
        events.audit(conn, actor, "create_hook", "hook", name, data=told)
    return Secret(id, name, secret)


def set_enabled(engine: Engine, which: str, enabled: bool, *, app: str | None = None, actor: str = "cli") -> str:
    """Switch the hook of this name or id on or off; its id. Raises `NotFound`, and `Conflict` for a name that several
    apps' hooks have."""
    with engine.db.transaction() as conn:
        row = _one(conn, which, app)
        hooks.set_enabled(conn, row.id, enabled)
        _tell(conn, actor, "enable_hook" if enabled else "disable_hook", row)
    return str(row.id)


def rotate_hook(engine: Engine, seal: Seal, which: str, *, app: str | None = None, actor: str = "cli") -> Secret:
    """Give the hook a new secret; the old one signs nothing any more. Raises as `set_enabled` does."""
    secret = _new_secret()
    with engine.db.transaction() as conn:
        row = _one(conn, which, app)
        hooks.set_secret(conn, row.id, seal.close(secret))
        _tell(conn, actor, "rotate_hook", row)
    return Secret(str(row.id), row.name, secret)


def remove_hook(engine: Engine, which: str, *, app: str | None = None, actor: str = "cli") -> str:
    """Remove the hook; its id. Raises as `set_enabled` does."""
    with engine.db.transaction() as conn:
        row = _one(conn, which, app)
        hooks.remove_hook(conn, row.id)
        _tell(conn, actor, "remove_hook", row)
    return str(row.id)


def _one(conn: Connection, which: str, app: str | None) -> Row[Any]:
    rows = hooks.lock_hooks(conn, which, app)
    if len(rows) > 1:
        raise Conflict(f"hooks of several apps are named '{which}': say which app, or give the id")
    return rows[0]


def _tell(conn: Connection, actor: str, action: str, row: Row[Any]) -> None:
    events.audit(conn, actor, action, "hook", row.name, data={"hook_id": row.id, "app": row.app})


def _row(name: str, spec: HookSpec, app_id: str, sealed: str, actor: str) -> NewHook:
    return NewHook(
        name=name,
        app_id=app_id,
        workflow=spec.workflow,
        event=spec.event,
        run=spec.run,
        scheme=spec.scheme,
        secret=sealed,
        input=BODY if spec.input is None else spec.input,
        idempotency_key=spec.idempotency_key,
        created_by=actor,
    )


def _new_secret() -> str:
    return "whs_" + secrets.token_urlsafe(32)


def _problems(name: str, spec: HookSpec) -> Iterator[Problem]:
    if not name.strip() or len(name) > 255 or not name.isprintable():
        yield Problem("name", "must be 1 to 255 printable characters")
    if (spec.workflow is None) == (spec.event is None):
        yield Problem("workflow", "give a workflow to start, or an event to send", "one of them")
    if (spec.event is None) != (spec.run is None):
        yield Problem("run", "an event goes to a run: give both", "a template such as {{ body.run_id }}")
    if spec.event is not None and spec.idempotency_key is not None:
        yield Problem("idempotency_key", "is for starts; an event has none")
    if spec.scheme not in SCHEMES:
        yield Problem("scheme", f"must be {TIMED} or {GITHUB}")
    yield from _of_templates({"input": spec.input, "run": spec.run, "idempotency_key": spec.idempotency_key})


def _of_templates(templates: Mapping[str, Any]) -> Iterator[Problem]:
    for path, template in templates.items():
        try:
            storable(template, max_bytes=_MOST_BYTES)
            odd = compile_template(template).references.roots - set(SCOPE)
        except (ExpressionError, UnstorableValue) as error:
            yield Problem(path, str(error))
            continue
        if odd:
            yield Problem(path, f"there is no {', '.join(sorted(odd))} here: a hook has {', '.join(SCOPE)}")
