"""Alert rules, what they have found, and their messages; without what is secret of their webhooks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.alerts import title_of
from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.ids import is_id
from orchestrator.store.reads.page import Page, id_cursor, iso, pack_cursor, page_of, unpack_cursor
from orchestrator.store.workflows import name_key

_SHOWN = """
SELECT k.id, k.name, k.name_key, a.name AS app, k.kinds, k.severity, k.workflow, k.tags, k.queue, k.late_seconds,
  k.stuck_seconds, k.group_seconds, k.repeat_seconds, k.resolved, k.webhook, k.secret IS NOT NULL AS signed, k.emails,
  k.paused_at IS NOT NULL AS paused, k.paused_at, k.paused_by, k.pause_reason, k.created_at, k.created_by,
  k.changed_at, k.changed_by,
  (SELECT count(*) FROM alerts l WHERE l.rule_id = k.id AND l.closed_at IS NULL) AS open,
  (SELECT count(*) FROM alert_deliveries d WHERE d.rule_id = k.id AND d.due_at IS NOT NULL) AS waiting,
  (SELECT d.sent_at FROM alert_deliveries d WHERE d.rule_id = k.id AND d.sent_at IS NOT NULL
    ORDER BY d.id DESC LIMIT 1) AS last_sent_at,
  (SELECT d.error FROM alert_deliveries d WHERE d.rule_id = k.id AND (d.sent_at IS NOT NULL OR d.error IS NOT NULL)
    ORDER BY d.id DESC LIMIT 1) AS error
FROM alert_rules k LEFT JOIN apps a ON a.id = k.app_id
WHERE (CAST(:app AS text) IS NULL OR a.name_key = :app)
"""
_LIST = text(f"""
{_SHOWN} AND (CAST(:severity AS text) IS NULL OR k.severity = :severity)
  AND (k.name_key, CAST(k.id AS text)) > (:key, :id) ORDER BY k.name_key, CAST(k.id AS text) LIMIT :limit
""")
_ONE = text(f"{_SHOWN} AND (k.name_key = :key OR k.id = CAST(:id AS uuid)) ORDER BY k.id LIMIT 1")
_NAMES = text(f"SELECT name FROM ({_SHOWN}) shown ORDER BY name_key LIMIT 2000")
_MOMENTS = ("paused_at", "created_at", "changed_at", "last_sent_at")


def list_rules(
    conn: Connection,
    after: str | None = None,
    limit: int = 100,
    *,
    app: str | None = None,
    severity: str | None = None,
) -> Page:
    """A page of rules by name: of one app, or of any and of all."""
    key, id = unpack_cursor(after, 2) if after is not None else ("", "")
    values = _of(app) | {"severity": severity, "key": key, "id": id, "limit": limit + 1}
    rows = conn.execute(_LIST, values).all()
    return page_of(rows, limit, _rule, lambda row: pack_cursor(row.name_key, str(row.id)))


def get_rule(conn: Connection, which: str, *, app: str | None = None) -> dict[str, Any]:
    """The rule of this name or id; raises `NotFound` naming a near one."""
    row = conn.execute(_ONE, _of(app) | {"key": name_key(which), "id": which if is_id(which) else None}).first()
    if row is None:
        names = conn.execute(_NAMES, _of(app)).scalars().all()
        raise NotFound(f"there is no alert rule '{which}'{did_you_mean(which, names)}")
    return _rule(row)


_ALERTS = text("""
SELECT l.* FROM alerts l WHERE l.rule_id = :rule AND (NOT :open OR l.closed_at IS NULL)
  AND (CAST(:after AS uuid) IS NULL OR l.id < :after) ORDER BY l.id DESC LIMIT :limit
""")
_DELIVERIES = text("""
SELECT d.* FROM alert_deliveries d WHERE d.rule_id = :rule
  AND (CAST(:after AS uuid) IS NULL OR d.id < :after) ORDER BY d.id DESC LIMIT :limit
""")
_DELIVERY = text("SELECT d.* FROM alert_deliveries d WHERE d.id = ANY(CAST(:ids AS uuid[])) ORDER BY d.id")


def list_alerts(
    conn: Connection,
    which: str,
    after: str | None = None,
    limit: int = 50,
    *,
    app: str | None = None,
    open: bool = False,
) -> Page:
    """A page of what a rule has found in the last 30 days, or only of what lasts (`open`), the latest first."""
    values = {"rule": get_rule(conn, which, app=app)["id"], "after": id_cursor(after), "limit": limit + 1}
    rows = conn.execute(_ALERTS, values | {"open": open}).all()
    return page_of(rows, limit, _alert, lambda row: str(row.id))


def list_deliveries(
    conn: Connection, which: str, after: str | None = None, limit: int = 50, *, app: str | None = None
) -> Page:
    """A page of the messages of a rule, those of the last 30 days, the latest first."""
    values = {"rule": get_rule(conn, which, app=app)["id"], "after": id_cursor(after), "limit": limit + 1}
    rows = conn.execute(_DELIVERIES, values).all()
    return page_of(rows, limit, _delivery, lambda row: str(row.id))


def deliveries_of(conn: Connection, ids: list[str]) -> list[dict[str, Any]]:
    """These messages, as they stand now."""
    return [_delivery(row) for row in conn.execute(_DELIVERY, {"ids": ids})]


def _of(app: str | None) -> dict[str, Any]:
    return {"app": name_key(app) if app is not None else None}


def _rule(row: Row[Any]) -> dict[str, Any]:
    shown = {name: value for name, value in row._mapping.items() if name != "name_key"}
    lists = {name: list(shown[name]) for name in ("kinds", "tags", "emails")}
    return shown | lists | {"id": str(row.id)} | {name: iso(shown[name]) for name in _MOMENTS}


def _alert(row: Row[Any]) -> dict[str, Any]:
    told = {name: row.subject.get(name) for name in ("app", "workflow", "queue", "schedule")}
    moments = {name: iso(getattr(row, name)) for name in ("opened_at", "last_at", "sent_at", "due_at", "closed_at")}
    return {"id": str(row.id), "kind": row.kind, "outcome": row.outcome, "total": row.total, **told, **moments}


def _delivery(row: Row[Any]) -> dict[str, Any]:
    status = "sent" if row.sent_at else "given_up" if row.given_up_at else "waiting"
    moments = {name: iso(getattr(row, name)) for name in ("created_at", "due_at", "sent_at", "given_up_at")}
    told = {"id": str(row.id), "alert_id": str(row.alert_id) if row.alert_id else None, "channel": row.channel}
    told |= {"state": row.state, "status": status, "title": title_of(row.message), "attempts": row.attempts}
    return told | moments | {"error": row.error}
