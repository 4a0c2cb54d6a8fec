"""Who asks: by a bearer token, or by the session that a login page has begun with `begin_session`.

A session opens pages, and of the API only what reads: another site can make a browser send its cookie, not a header.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from flask import current_app, g, request, session

from orchestrator.domain.roles import Role
from orchestrator.services.tokens import Identity
from orchestrator.store.db import Database
from orchestrator.store.workflows import name_key
from web.application import database
from web.errors import Forbidden, Unauthenticated
from web.failures import Failures
from web.identities import Identities

__all__ = [
    "READS",
    "Identity",
    "actor",
    "begin_session",
    "current_identity",
    "end_session",
    "forget_token",
    "identity_of_token_id",
    "require",
    "sees",
    "session_identity",
    "verify_password",
    "verify_token",
]

View = TypeVar("View", bound=Callable[..., Any])
_SESSION = "token_id"
READS = frozenset({"GET", "HEAD", "OPTIONS"})


def verify_token(db: Database, token: str) -> Identity | None:
    """Whose token it is, None for one that opens nothing. An address that fails too often gets `TooManyRequests`."""
    return _counted(_identities(db).of_token(token))


def verify_password(db: Database, name: str, password: str) -> Identity | None:
    """Who logs in; else as `verify_token`, but an address that has failed too often is not even listened to."""
    _failures().check(_address())
    return _counted(_identities(db).of_password(name, password))


def identity_of_token_id(db: Database, token_id: str) -> Identity | None:
    """The holder of the token a session was begun with; None once it is revoked or has expired."""
    return _identities(db).of_id(token_id)


def forget_token(db: Database, token_id: str) -> None:
    """To be called by whoever revokes or changes a token in this process, so that this holds here at once."""
    _identities(db).forget(token_id)


def begin_session(identity: Identity) -> None:
    """From now on the browser's cookie stands for this identity, as long as its token does."""
    session.clear()
    session[_SESSION] = identity.token_id


def end_session() -> None:
    """The cookie stands for nobody."""
    session.clear()


def current_identity() -> Identity:
    """Who makes this request; raises `Unauthenticated`, or `TooManyRequests`."""
    if "identity" not in g:
        g.identity = _by_header() if request.authorization is not None else _by_session()
    identity: Identity = g.identity
    return identity


def session_identity() -> Identity | None:
    """Who the browser's session stands for; None for nobody, and once its token opens nothing."""
    token_id = session.get(_SESSION)
    return identity_of_token_id(database(), token_id) if isinstance(token_id, str) else None


def sees(app: str) -> bool:
    """Whether what belongs to this app is open to who makes this request."""
    own = current_identity().app
    return own is None or name_key(app) == name_key(own)


def actor() -> str:
    """Who acts, for the audit log: `api:NAME`, or `web:NAME` when the act came through a page."""
    door = "api" if request.authorization is not None else "web"
    return f"{door}:{current_identity().name}"


def require(role: Role) -> Callable[[View], View]:
    """Let a view of the API answer those only who have this role, or a higher one."""

    def wrap(view: View) -> View:
        @wraps(view)
        def checked(*args: Any, **given: Any) -> Any:
            check_role(role)
            return view(*args, **given)

        return checked  # type: ignore[return-value]

    return wrap


def check_role(role: Role) -> None:
    """Raises `Forbidden` for a lower role, and what `current_identity` raises."""
    identity = current_identity()
    if request.authorization is None and request.method not in READS:
        raise Unauthenticated("a session only reads: send `Authorization: Bearer TOKEN`")
    if identity.role < role:
        raise Forbidden(f"this takes the role {role}, and '{identity.name}' is {identity.role}")


def _by_header() -> Identity:
    given = request.authorization
    if given is None or given.type != "bearer" or not given.token:
        raise Unauthenticated("send `Authorization: Bearer TOKEN`")
    identity = verify_token(database(), given.token)
    if identity is None:
        raise Unauthenticated("the token is not valid, or no longer")
    return identity


def _by_session() -> Identity:
    identity = session_identity()
    if identity is None:
        raise Unauthenticated("send `Authorization: Bearer TOKEN` (make one with `orchestrator token create`)")
    return identity


def _counted(identity: Identity | None) -> Identity | None:
    if identity is None:
        _failures().check(_address())
        _failures().note(_address())
    return identity


def _address() -> str:
    return request.remote_addr or ""


def _failures() -> Failures:
    failures: Failures = current_app.extensions["orchestrator.failures"]
    return failures


def _identities(db: Database) -> Identities:
    """Those of the application's database; another database's are not remembered."""
    identities: Identities = current_app.extensions["orchestrator.identities"]
    return identities if db is database() else Identities(db)
