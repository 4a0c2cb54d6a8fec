"""Webhooks: what is stored of them, and which calls were taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.ids import is_id, new_id
from orchestrator.store.transition import as_text
from orchestrator.store.workflows import name_key


@dataclass(frozen=True, slots=True)
class NewHook:
    """A hook to be stored; `secret` encrypted. Either `workflow`, or `event` and `run`."""

    name: str
    app_id: str
    workflow: str | None
    event: str | None
    run: str | None
    scheme: str
    secret: str
    input: Any
    idempotency_key: str | None
    created_by: str


_INSERT = text("""
INSERT INTO hooks (id, name, name_key, app_id, workflow, event, run, scheme, secret, input, idempotency_key, created_by)
VALUES (:id, :name, :key, :app_id, :workflow, :event, :run, :scheme, :secret, CAST(:input AS json), :idempotency_key,
  :created_by)
ON CONFLICT (app_id, name_key) DO NOTHING RETURNING id
""")


def insert_hook(conn: Connection, new: NewHook) -> str | None:
    """Store it; its id, or None when the app has one of this name."""
    values = {name: getattr(new, name) for name in NewHook.__slots__} | {"input": as_text(new.input)}
    return conn.execute(_INSERT, values | {"id": new_id(), "key": name_key(new.name)}).scalar()


_FIND = """
SELECT h.id, h.name, a.name AS app, h.workflow, h.event, h.run, h.scheme, h.secret, h.input, h.idempotency_key,
  h.enabled
FROM hooks h JOIN apps a ON a.id = h.app_id
"""
_BY_ID = text(f"{_FIND} WHERE h.id = CAST(:id AS uuid)")
_LOCK = text(f"""
{_FIND} WHERE (CAST(:app AS text) IS NULL OR a.name_key = :app)
  AND (h.name_key = :key OR h.id = CAST(:id AS uuid)) ORDER BY h.id FOR UPDATE OF h
""")
_NAMES = text("""
SELECT h.name FROM hooks h JOIN apps a ON a.id = h.app_id
WHERE CAST(:app AS text) IS NULL OR a.name_key = :app ORDER BY h.name_key
""")


def find_hook(conn: Connection, id: str) -> Row[Any] | None:
    """The hook of this id, enabled or not."""
    return conn.execute(_BY_ID, {"id": id}).first() if is_id(id) else None


def lock_hooks(conn: Connection, which: str, app: str | None) -> list[Row[Any]]:
    """The hooks of this name or id, of one app or (None) of any, locked; raises `NotFound` naming a near one."""
    of_app = {"app": name_key(app) if app is not None else None}
    values = of_app | {"key": name_key(which), "id": which if is_id(which) else None}
    rows = list(conn.execute(_LOCK, values))
    if not rows:
        names = conn.execute(_NAMES, of_app).scalars().all()
        raise NotFound(f"there is no hook '{which}'{did_you_mean(which, names)}")
    return rows


def set_enabled(conn: Connection, id: str, enabled: bool) -> None:
    """Let it be called, or not."""
    conn.execute(text("UPDATE hooks SET enabled = :enabled WHERE id = :id"), {"id": id, "enabled": enabled})


def set_secret(conn: Connection, id: str, secret: str) -> None:
    """Replace its secret, encrypted."""
    conn.execute(text("UPDATE hooks SET secret = :secret WHERE id = :id"), {"id": id, "secret": secret})


def remove_hook(conn: Connection, id: str) -> None:
    """Remove it with what is known of its calls."""
    conn.execute(text("DELETE FROM hooks WHERE id = :id"), {"id": id})


_MOST_FORGOTTEN = 100  # at a call: more than come in
_FORGET = text(f"""
DELETE FROM hook_calls WHERE (hook_id, call_key) IN (
  SELECT hook_id, call_key FROM hook_calls WHERE expires_at <= orchestrator_now()
  ORDER BY expires_at LIMIT {_MOST_FORGOTTEN} FOR UPDATE SKIP LOCKED)
""")
_TAKE = text("""
INSERT INTO hook_calls (hook_id, call_key, expires_at)
VALUES (:hook_id, :key, orchestrator_now() + make_interval(secs => :seconds))
ON CONFLICT (hook_id, call_key) DO NOTHING RETURNING hook_id
""")
_CALLED = text("UPDATE hooks SET last_called_at = orchestrator_now() WHERE id = :id")


def take_call(conn: Connection, hook_id: str, key: str, seconds: float) -> bool:
    """Take this call and remember it for so long; False when it was taken before."""
    conn.execute(_FORGET)
    if conn.execute(_TAKE, {"hook_id": hook_id, "key": key, "seconds": seconds}).first() is None:
        return False
    conn.execute(_CALLED, {"id": hook_id})
    return True


_RUN_OF = text("SELECT run_id FROM hook_calls WHERE hook_id = :hook_id AND call_key = :key")
_NOTE_RUN = text("UPDATE hook_calls SET run_id = :run_id WHERE hook_id = :hook_id AND call_key = :key")
_GIVE_BACK = text("DELETE FROM hook_calls WHERE hook_id = :hook_id AND call_key = :key")


def run_of_call(conn: Connection, hook_id: str, key: str) -> str | None:
    """The run of a call that was taken before; None while that is under way."""
    return conn.execute(_RUN_OF, {"hook_id": hook_id, "key": key}).scalar()


def note_run(conn: Connection, hook_id: str, key: str, run_id: str) -> None:
    """Remember which run a call was about."""
    conn.execute(_NOTE_RUN, {"hook_id": hook_id, "key": key, "run_id": run_id})


def give_back(conn: Connection, hook_id: str, key: str) -> None:
    """Forget a call of which nothing came, so that it can be made again."""
    conn.execute(_GIVE_BACK, {"hook_id": hook_id, "key": key})
