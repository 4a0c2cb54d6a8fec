"""Make tokens, tell whose one is, and revoke them. Only a token's hash is stored: it is shown once."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.roles import Role
from orchestrator.errors import Conflict, InvalidInput, Problem
from orchestrator.services.passwords import LEAST, MOST, NOBODYS, hash_password, is_password
from orchestrator.store import events, tokens
from orchestrator.store.db import Database
from orchestrator.store.tokens import NewToken
from orchestrator.store.workflows import find_app

_PREFIX = "orc_"
_SHAPE = re.compile(rf"{_PREFIX}[\w-]{{43}}", re.ASCII)
_LONGEST = 100 * 366 * 86400.0  # seconds


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks: the holder of a token. `app` None: all apps are open to it."""

    name: str
    role: Role
    app: str | None
    token_id: str


@dataclass(frozen=True, slots=True)
class Verified:
    """An identity, for `seconds` from now on at most; None: without an end of its own."""

    identity: Identity
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Created:
    """`token` is to be shown now, and cannot be had again."""

    id: str
    name: str
    token: str


def create_token(
    db: Database,
    name: str,
    role: Role,
    *,
    app: str | None = None,
    expires_in: float | None = None,
    password: str | None = None,
    actor: str = "cli",
) -> Created:
    """Make a token; `expires_in` seconds from now it opens nothing any more.

    Raises `InvalidInput`, `NotFound` for the app, and `Conflict` when another has the name.
    """
    _check(name, expires_in, password)
    token = _PREFIX + secrets.token_urlsafe(32)
    with db.transaction() as conn:
        owner = find_app(conn, app) if app is not None else None
        new = NewToken(
            name=name,
            role=role.value,
            app_id=owner.id if owner is not None else None,
            token_hash=_hash(token),
            password_hash=hash_password(password) if password is not None else None,
            expires_in=expires_in,
            created_by=actor,
        )
        id = tokens.insert_token(conn, new)
        if id is None:
            raise Conflict(f"there is a token '{name}' already: revoke it, or choose another name")
        told = {"token_id": id, "role": role.value, "app": owner.name if owner is not None else None}
        events.audit(conn, actor, "create_token", "token", name, data=told | {"expires_in": expires_in})
    return Created(id, name, token)


def revoke_token(
    db: Database, name: str, *, reason: str | None = None, actor: str = "cli", app: str | None = None
) -> str:
    """Revoke the token of this name; its id. Raises `NotFound`; with `app` also for one that is not of that app."""
    with db.transaction() as conn:
        row = tokens.lock_token(conn, name, app)
        tokens.revoke_token(conn, row.id)
        events.audit(conn, actor, "revoke_token", "token", row.name, reason, {"token_id": row.id})
    return str(row.id)


def set_password(db: Database, name: str, password: str | None, *, actor: str = "cli", app: str | None = None) -> str:
    """Let the token's holder log in with a password, or (None) no longer; its id. Raises as `revoke_token` does, and
    `InvalidInput`."""
    _check(name, None, password)
    with db.transaction() as conn:
        row = tokens.lock_token(conn, name, app)
        tokens.set_password(conn, row.id, hash_password(password) if password is not None else None)
        events.audit(
            conn, actor, "set_password", "token", row.name, None, {"token_id": row.id, "removed": password is None}
        )
    return str(row.id)


def verify_token(db: Database, token: str) -> Verified | None:
    """Whose token it is; None for one that opens nothing."""
    if not _SHAPE.fullmatch(token):
        return None
    with db.transaction(lazy=True) as conn:
        return _verified(conn, tokens.find_by_hash(conn, _hash(token)))


def verify_id(db: Database, id: str) -> Verified | None:
    """The holder of the token with this id; None when it opens nothing any more."""
    with db.transaction(lazy=True) as conn:
        return _verified(conn, tokens.find_by_id(conn, id))


def verify_password(db: Database, name: str, password: str) -> Verified | None:
    """The holder of the token of this name, if this is the password; takes as long whatever is wrong."""
    if len(password) > MOST or len(name) > 255 or not name.isprintable():
        return None
    with db.transaction(lazy=True) as conn:
        row = tokens.find_by_name(conn, name)
    stored = row.password_hash if row is not None else None
    if not is_password(stored or NOBODYS, password) or row is None:
        return None
    return verify_id(db, row.id)


def _verified(conn: Connection, row: Row[Any] | None) -> Verified | None:
    if row is None:
        return None
    if row.unnoted:
        tokens.note_use(conn, row.id)
    identity = Identity(row.name, Role(row.role), row.app, str(row.id))
    return Verified(identity, float(row.left) if row.left is not None else None)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _check(name: str, expires_in: float | None, password: str | None) -> None:
    problems = []
    if not name.strip() or len(name) > 255 or not name.isprintable():
        problems.append(Problem("name", "must be 1 to 255 printable characters"))
    if expires_in is not None and not 0 < expires_in <= _LONGEST:
        problems.append(Problem("expires_in", f"must be more than 0 and at most {_LONGEST:.0f} seconds"))
    if password is not None and not LEAST <= len(password) <= MOST:
        problems.append(Problem("password", f"must have {LEAST} to {MOST} characters"))
    if problems:
        raise InvalidInput(problems, "the token is invalid")
