"""A call of a webhook: is it signed, was it made before; then what the hook does."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row

from orchestrator.domain.expressions import compile_template
from orchestrator.domain.signatures import GITHUB, TIMED, Signed, check
from orchestrator.errors import (
    Conflict,
    ExpressionError,
    InvalidInput,
    NotFound,
    OrchestratorError,
    Problem,
    unknown_run,
)
from orchestrator.ids import is_id
from orchestrator.services.engine import Engine
from orchestrator.services.seal import Seal
from orchestrator.services.signal import signal
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.store import events, hooks
from orchestrator.store.reads import run_app

_NOBODYS = "whs_" + "0" * 43  # compared with when there is no such hook, so that the answer takes as long


class NotSigned(OrchestratorError):
    """The call's signature is missing, wrong or too old."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it came: headers by lower-case name, the body's bytes."""

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Verified:
    """A call that is signed; `hook` is its row."""

    hook: Row[Any]
    signed: Signed


@dataclass(frozen=True, slots=True)
class Called:
    """`run_id`: the run that was started, or got the event. `created`: whether this call has started it."""

    run_id: str
    created: bool


def verify_call(engine: Engine, seal: Seal, hook_id: str, call: Call) -> Verified:
    """Raises `NotFound` for a hook that is not there, or is switched off, and `NotSigned`."""
    with engine.db.transaction(lazy=True) as conn:
        hook = hooks.find_hook(conn, hook_id)
    there = hook is not None and hook.enabled
    secret = seal.open(hook.secret) if hook is not None and there else _NOBODYS
    scheme = hook.scheme if hook is not None else TIMED
    signed = check(scheme, secret, call.headers, call.body, time.time())
    if hook is None or not there:
        raise NotFound(f"there is no hook {hook_id}")
    if signed is None:
        with engine.db.transaction(lazy=True) as conn:
            told = {"hook_id": hook.id, "app": hook.app}
            events.audit_at_times(conn, f"hook:{hook.name}", "refuse_call", "hook", hook.name, told)
        raise NotSigned("the call is not signed as it must be")
    return Verified(hook, signed)


def act_on_call(engine: Engine, verified: Verified, scope: Mapping[str, Any]) -> Called:
    """Do what the hook is for, once a call; `scope`: body, headers and query, for its templates.

    Raises `Conflict` for a call that was taken before; but a delivery of GitHub's that comes again gets the answer it
    had. Raises what `start` and `signal` raise, and `InvalidInput` for a template that cannot be rendered; then the
    call may be made again.
    """
    hook, key = verified.hook, verified.signed.key
    with engine.db.transaction() as conn:
        taken = hooks.take_call(conn, hook.id, key, verified.signed.seconds)
        earlier = None if taken else hooks.run_of_call(conn, hook.id, key)
    if not taken and (earlier is None or hook.scheme != GITHUB):
        raise Conflict("this call was taken before")
    if earlier is not None:
        return Called(earlier, False)
    with _given_back(engine, hook.id, key):
        called = _act(engine, verified, {**scope, "__now__": datetime.now(UTC)})
    with engine.db.transaction() as conn:
        hooks.note_run(conn, hook.id, key, called.run_id)
        told = {"hook_id": hook.id, "app": hook.app, "run_id": called.run_id, "created": called.created}
        events.audit(conn, f"hook:{hook.name}", "call_hook", "hook", hook.name, data=told)
    return called


@contextmanager
def _given_back(engine: Engine, hook_id: str, key: str) -> Iterator[None]:
    """What fails was not taken."""
    try:
        yield
    except Exception:
        with engine.db.transaction() as conn:
            hooks.give_back(conn, hook_id, key)
        raise


def _act(engine: Engine, verified: Verified, scope: Mapping[str, Any]) -> Called:
    hook = verified.hook
    input = _rendered("input", hook.input, scope)
    if hook.event is not None:
        return _send(engine, hook, _rendered("run", hook.run, scope), input)
    options = StartOptions(hook.app, (), _key(verified, scope), actor=f"hook:{hook.name}")
    made = start(engine, hook.workflow, input, options)
    return Called(made.run_id, made.created)


def _key(verified: Verified, scope: Mapping[str, Any]) -> str | None:
    """The template's; without one GitHub's id of the delivery, of this hook's."""
    hook = verified.hook
    if hook.idempotency_key is None:
        return f"hook:{hook.id}:{verified.signed.key}" if hook.scheme == GITHUB else None
    key = _rendered("idempotency_key", hook.idempotency_key, scope)
    return None if key in (None, "") else str(key)


def _send(engine: Engine, hook: Row[Any], run_id: Any, payload: Any) -> Called:
    """Runs of other apps are not there."""
    if not isinstance(run_id, str) or not is_id(run_id):
        raise InvalidInput([Problem("run", "the template gives no id of a run")], "the call does not say which run")
    with engine.db.transaction() as conn:
        if run_app(conn, run_id) != hook.app:
            raise unknown_run(run_id)
    signal(engine, run_id, hook.event, payload, actor=f"hook:{hook.name}")
    return Called(run_id, False)


def _rendered(path: str, template: Any, scope: Mapping[str, Any]) -> Any:
    try:
        return compile_template(template).render(scope)
    except ExpressionError as error:
        raise InvalidInput([Problem(path, str(error))], "the hook's templates do not fit the call") from error
