"""The alert rules, and one of them: what it has found, and what became of its messages."""

from __future__ import annotations

from typing import Any

from flask import request, url_for

from orchestrator.domain.alerts import Severity, describe_rule
from orchestrator.domain.times import span
from orchestrator.errors import NotFound
from orchestrator.ids import is_id
from orchestrator.store.reads import Page, list_apps
from orchestrator.store.reads.alerts import get_rule, list_alerts, list_deliveries, list_rules
from web.application import database
from web.pages.frame import page_blueprint, render, scope

alerts = page_blueprint("alerts")

_PAGE, _DELIVERIES, _OPEN = 50, 25, 20


@alerts.get("/alerts")
def index() -> str:
    """The list; asked for by htmx, it lives."""
    query = _query()
    with database().transaction() as conn:
        try:
            page = list_rules(conn, request.args.get("after") or None, _PAGE, **query)
        except NotFound:
            page = Page([])
        apps = [one["name"] for one in list_apps(conn)] if scope() is None else []
    values: dict[str, Any] = {"page": page, "query": query, "url": _url, "about": about, "severities": list(Severity)}
    part = request.headers.get("HX-Target") == "alerts-list"
    return render("alerts/list.html" if part else "alerts/index.html", apps=apps, **values)


@alerts.get("/alerts/rule")
def show() -> str:
    """One rule; asked for by htmx, what changes of it."""
    rule, after = of_id(request.args.get("id", "")), request.args.get("after") or None
    with database().transaction() as conn:
        found = list_alerts(conn, rule["id"], limit=_OPEN, open=True)
        sent = list_deliveries(conn, rule["id"], after, _DELIVERIES)
    values = {"rule": rule, "found": found, "sent": sent, "after": after, "about": about, "span": span}
    part = request.headers.get("HX-Target") == "alert-now"
    return render("alerts/now.html" if part else "alerts/show.html", **values)


def of_id(id: str) -> dict[str, Any]:
    """The rule of an id; raises `NotFound`, also for one that is closed to who asks."""
    if not is_id(id):
        raise NotFound(f"there is no alert rule '{id}'")
    with database().transaction() as conn:
        return get_rule(conn, id, app=scope())


def about(rule: dict[str, Any]) -> str:
    """What it is about, in words."""
    return describe_rule(rule["kinds"], rule["late_seconds"], rule["stuck_seconds"])


def _query() -> dict[str, Any]:
    severity = request.args.get("severity", "")
    return {
        "app": scope(request.args.get("app", "").strip() or None),
        "severity": severity if severity in list(Severity) else None,
    }


def _url(**changes: Any) -> str:
    """The list with other filters."""
    return url_for("alerts.index", **(_query() | changes))
