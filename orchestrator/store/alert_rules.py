"""Alert rules: their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.ids import is_id, new_id
from orchestrator.store.horizon import Mark, begin
from orchestrator.store.workflows import name_key

MARK: Mark = "alert_mark"
# What a person says of a rule.
SAID = (
    "kinds",
    "severity",
    "workflow",
    "tags",
    "queue",
    "late_seconds",
    "stuck_seconds",
    "group_seconds",
    "repeat_seconds",
    "resolved",
    "emails",
)
_COLUMNS = (*SAID, "workflow_key", "webhook", "url", "secret")
_INSERT = text(f"""
INSERT INTO alert_rules (id, name, name_key, app_id, {", ".join(_COLUMNS)}, created_by, changed_by)
VALUES (:id, :name, :key, :app_id, {", ".join(f":{name}" for name in _COLUMNS)}, :actor, :actor)
ON CONFLICT DO NOTHING RETURNING id
""")
_CHANGE = text(f"""
UPDATE alert_rules SET {", ".join(f"{name} = :{name}" for name in _COLUMNS)}, changed_at = orchestrator_now(),
  changed_by = :actor WHERE id = :id
""")
_ANY = text("SELECT EXISTS (SELECT FROM alert_rules)")


def insert_rule(conn: Connection, name: str, app_id: str | None, said: Mapping[str, Any], actor: str) -> str | None:
    """Store it; None when there is one of this name. Of the first rule: events are looked at from now on."""
    if not conn.execute(_ANY).scalar_one():
        begin(conn, MARK)
    values = {"id": new_id(), "name": name, "key": name_key(name), "app_id": app_id, "actor": actor}
    return conn.execute(_INSERT, values | _values(said)).scalar()


def change_rule(conn: Connection, id: str, said: Mapping[str, Any], actor: str) -> None:
    """Store what is said of it now."""
    conn.execute(_CHANGE, {"id": id, "actor": actor} | _values(said))


def _values(said: Mapping[str, Any]) -> dict[str, Any]:
    lists = {name: [str(one) for one in said[name]] for name in ("kinds", "tags", "emails")}
    key = name_key(said["workflow"]) if said["workflow"] is not None else None
    values = {name: said[name] for name in _COLUMNS if name != "workflow_key"}
    return values | lists | {"workflow_key": key, "severity": str(said["severity"])}


_ROW = "SELECT k.*, a.name AS app FROM alert_rules k LEFT JOIN apps a ON a.id = k.app_id"
_LOCK = text(f"""
{_ROW} WHERE (CAST(:app AS text) IS NULL OR a.name_key = :app) AND (k.name_key = :key OR k.id = CAST(:id AS uuid))
ORDER BY k.id FOR UPDATE OF k
""")
_LOCK_OF_ALL = text(f"{_ROW} WHERE k.app_id IS NULL AND k.name_key = :key FOR UPDATE OF k")
_NAMES = text("""
SELECT k.name FROM alert_rules k LEFT JOIN apps a ON a.id = k.app_id
WHERE CAST(:app AS text) IS NULL OR a.name_key = :app ORDER BY k.name_key LIMIT 2000
""")
_ACTIVE = text(f"{_ROW} WHERE k.paused_at IS NULL ORDER BY k.id FOR SHARE OF k")


def lock_rules(conn: Connection, which: str, app: str | None) -> Sequence[Row[Any]]:
    """The rules of this name or id, of one app or (None) of any and of all, locked; raises `NotFound` naming a near
    one."""
    of_app = {"app": name_key(app) if app is not None else None}
    rows = conn.execute(_LOCK, of_app | {"key": name_key(which), "id": which if is_id(which) else None}).all()
    if not rows:
        names = conn.execute(_NAMES, of_app).scalars().all()
        raise NotFound(f"there is no alert rule '{which}'{did_you_mean(which, names)}")
    return rows


def find_rule(conn: Connection, name: str, app: str | None) -> Row[Any] | None:
    """The rule of this name, of the app or (None) of all of them, locked."""
    if app is None:
        return conn.execute(_LOCK_OF_ALL, {"key": name_key(name)}).first()
    return conn.execute(_LOCK, {"app": name_key(app), "key": name_key(name), "id": None}).first()


def active_rules(conn: Connection) -> Sequence[Row[Any]]:
    """All that are not paused, as they stay for the rest of the transaction: who changes one waits for its end."""
    return conn.execute(_ACTIVE).all()


_PAUSE = text("""
UPDATE alert_rules SET paused_at = orchestrator_now(), paused_by = :actor, pause_reason = :reason WHERE id = :id
""")
_RESUME = text("UPDATE alert_rules SET paused_at = NULL, paused_by = NULL, pause_reason = NULL WHERE id = :id")
_CLOSE = text("""
UPDATE alerts SET closed_at = orchestrator_now(), outcome = 'paused', due_at = NULL
WHERE rule_id = :id AND closed_at IS NULL
""")
_DROP = text("""
UPDATE alert_deliveries SET due_at = NULL, given_up_at = orchestrator_now(), error = 'the rule was paused'
WHERE rule_id = :id AND due_at IS NOT NULL
""")


def pause_rule(conn: Connection, id: str, actor: str, reason: str | None) -> None:
    """It looks at nothing and sends nothing until it is resumed; what it has found is let go."""
    conn.execute(_PAUSE, {"id": id, "actor": actor, "reason": reason})
    conn.execute(_CLOSE, {"id": id})
    conn.execute(_DROP, {"id": id})


def resume_rule(conn: Connection, id: str) -> None:
    """It looks again, from now on."""
    conn.execute(_RESUME, {"id": id})


def delete_rule(conn: Connection, id: str) -> None:
    """Remove it with what it has found and sent."""
    conn.execute(text("DELETE FROM alert_rules WHERE id = :id"), {"id": id})
