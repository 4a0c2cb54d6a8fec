"""Tokens: what is stored of them, which is never the token itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.ids import is_id, new_id
from orchestrator.store.workflows import name_key


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token to be stored; `expires_in` in seconds, `app_id` None: of every app."""

    name: str
    role: str
    app_id: str | None
    token_hash: str
    password_hash: str | None
    expires_in: float | None
    created_by: str


_INSERT = text("""
INSERT INTO api_tokens (id, name, name_key, role, app_id, token_hash, password_hash, created_by, expires_at)
VALUES (:id, :name, :name_key, :role, :app_id, :token_hash, :password_hash, :created_by,
  orchestrator_now() + make_interval(secs => :expires_in))
ON CONFLICT (name_key) WHERE revoked_at IS NULL DO NOTHING RETURNING id
""")


def insert_token(conn: Connection, new: NewToken) -> str | None:
    """Store it; its id, or None when another token that is not revoked has the name."""
    values = {name: getattr(new, name) for name in NewToken.__slots__}
    return conn.execute(_INSERT, values | {"id": new_id(), "name_key": name_key(new.name)}).scalar()


_VALID = """
SELECT t.id, t.name, t.role, a.name AS app, t.password_hash,
  extract(epoch FROM t.expires_at - orchestrator_now()) AS left,
  t.last_used_at IS NULL OR t.last_used_at < orchestrator_now() - interval '1 minute' AS unnoted
FROM api_tokens t LEFT JOIN apps a ON a.id = t.app_id
WHERE t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > orchestrator_now()) AND {which}
"""
_BY_HASH = text(_VALID.format(which="t.token_hash = :value"))
_BY_ID = text(_VALID.format(which="t.id = CAST(:value AS uuid)"))
_BY_NAME = text(_VALID.format(which="t.name_key = :value"))


def find_by_hash(conn: Connection, token_hash: str) -> Row[Any] | None:
    """The token with this hash, if it is neither revoked nor expired."""
    return conn.execute(_BY_HASH, {"value": token_hash}).first()


def find_by_id(conn: Connection, id: str) -> Row[Any] | None:
    """The same by id."""
    return conn.execute(_BY_ID, {"value": id}).first() if is_id(id) else None


def find_by_name(conn: Connection, name: str) -> Row[Any] | None:
    """The same by name."""
    return conn.execute(_BY_NAME, {"value": name_key(name)}).first()


# Again: of several processes that have seen it unnoted, one notes it.
_NOTE_USE = text("""
UPDATE api_tokens SET last_used_at = orchestrator_now()
WHERE id = :id AND (last_used_at IS NULL OR last_used_at < orchestrator_now() - interval '1 minute')
""")


def note_use(conn: Connection, id: str) -> None:
    """Remember that it was used just now; at most once a minute."""
    conn.execute(_NOTE_USE, {"id": id})


_LOCK = text("""
SELECT t.id, t.name FROM api_tokens t LEFT JOIN apps a ON a.id = t.app_id
WHERE t.name_key = :key AND t.revoked_at IS NULL AND (CAST(:app AS text) IS NULL OR a.name_key = :app)
FOR UPDATE OF t
""")
_NAMES = text("""
SELECT t.name FROM api_tokens t LEFT JOIN apps a ON a.id = t.app_id
WHERE t.revoked_at IS NULL AND (CAST(:app AS text) IS NULL OR a.name_key = :app) ORDER BY t.name_key
""")
_REVOKE = text("UPDATE api_tokens SET revoked_at = orchestrator_now() WHERE id = :id")
_SET_PASSWORD = text("UPDATE api_tokens SET password_hash = :hash WHERE id = :id")


def lock_token(conn: Connection, name: str, app: str | None = None) -> Row[Any]:
    """The token of this name that is not revoked (id, name), locked, if it is of this app; raises `NotFound`."""
    of_app = {"app": name_key(app) if app is not None else None}
    row = conn.execute(_LOCK, of_app | {"key": name_key(name)}).first()
    if row is None:
        names: Sequence[str] = conn.execute(_NAMES, of_app).scalars().all()
        raise NotFound(f"there is no token '{name}'{did_you_mean(name, names)}")
    return row


def revoke_token(conn: Connection, id: str) -> None:
    """From now on it opens nothing."""
    conn.execute(_REVOKE, {"id": id})


def set_password(conn: Connection, id: str, password_hash: str | None) -> None:
    """Let its holder log in with a password, or (None) no longer."""
    conn.execute(_SET_PASSWORD, {"id": id, "hash": password_hash})
