"""Alert rules: who is told of what."""

from __future__ import annotations

from typing import Any

from flask import Response, current_app, url_for
from marshmallow import fields

from orchestrator.domain.alerts import Kind, Severity
from orchestrator.domain.roles import Role
from orchestrator.services.alert_rules import (
    ALL_APPS,
    change_rule,
    create_rule,
    delete_rule,
    pause_rule,
    resume_rule,
    try_rule,
)
from orchestrator.services.seal import Seal
from orchestrator.store.reads.alerts import deliveries_of, get_rule, list_alerts, list_deliveries, list_rules
from web.api.fields import Count, Name, OfApp, Paged, Strict, Text, absent, one_of
from web.api.noun import Noun, answered, paged
from web.api.schedules import WhyBody
from web.api.shapes.alerts import AlertDeliveryPage, AlertPage, AlertRulePage, AlertRuleShape, AlertTestShape
from web.api.use import app_seen, for_all_apps
from web.application import database, engine
from web.auth import actor

alerts = Noun("alerts", "Alerts: who is told of what, by webhook or e-mail. A rule is meant by its name or its id.")


class RulesQuery(Paged, OfApp):
    """Which rules."""

    severity = one_of(Severity, load_default=absent, metadata={"description": "Of this severity."})


class FoundQuery(Paged, OfApp):
    """Which alerts."""

    open = fields.Boolean(load_default=False, metadata={"description": "Only what is so now."})


class OfRuleQuery(Paged, OfApp):
    """Which messages."""


class DeleteQuery(OfApp):
    """Which, and why."""

    reason = Text(load_default=absent, metadata={"description": "Why, for the audit log."})


class ChangeRuleBody(Strict):
    """What is to be so from now on; what is left out stays."""

    kinds = fields.List(one_of(Kind), metadata={"description": "What it is about."})
    severity = one_of(Severity, metadata={"description": "How much it matters; warning."})
    workflow = Name(allow_none=True, metadata={"description": "Of runs of this workflow only."})
    tags = fields.List(Text(most=255), metadata={"description": "Of runs with all of these only."})
    queue = Name(allow_none=True, metadata={"description": "Of this queue only."})
    late_seconds = Count(least=1, allow_none=True, metadata={"description": "A run is late that is open so long."})
    stuck_seconds = Count(least=10, metadata={"description": "Of a queue, without a step taken from it; 300."})
    group_seconds = Count(metadata={"description": "Runs of a workflow are gathered for so long; 60."})
    repeat_seconds = Count(least=60, metadata={"description": "What is still so is told again after so long; 3600."})
    resolved = fields.Boolean(metadata={"description": "Whether to tell that something is over; true."})
    webhook = Text(allow_none=True, metadata={"description": "The URL to post to, or `secrets.NAME`."})
    secret = Text(allow_none=True, metadata={"description": "What signs, or `secrets.NAME`."})
    emails = fields.List(Text(most=255), metadata={"description": "Addresses to mail to."})


class NewRuleBody(ChangeRuleBody):
    """A rule."""

    name = Name(required=True)
    app = Name(load_default=None, allow_none=True, metadata={"description": "Whose it is; default: the configured."})
    all_apps = fields.Boolean(load_default=False, metadata={"description": "It is about all apps."})


@alerts.get("/alerts", AlertRulePage, query=RulesQuery, refused=(404,))
def list_all(query: dict[str, Any]) -> Response:
    """List alert rules by name

    A token of one app sees that app's.
    """
    with database().transaction() as conn:
        chosen = {"app": app_seen(query["app"]), "severity": query["severity"]}
        return paged(list_rules(conn, query["after"], query["limit"], **chosen))


@alerts.post("/alerts", AlertRuleShape, role=Role.AUTHOR, status=201, body=NewRuleBody, refused=(404, 409))
def create(query: dict[str, Any], body: dict[str, Any]) -> Response:
    """Make an alert rule

    422 with every problem; 409: there is one of this name, or SECRET_KEY is not set. 403: a rule about all apps, by a
    token of one.
    """
    if body["all_apps"]:
        for_all_apps("rules about all apps")
    app = ALL_APPS if body["all_apps"] else app_seen(body["app"])
    id = create_rule(engine(), _seal(), body["name"], body, app=app, actor=actor())
    return answered(_shown(id, None), 201, Location=url_for("api-alerts.show", which=id))


@alerts.get("/alerts/<which>", AlertRuleShape, query=OfApp, refused=(404,))
def show(query: dict[str, Any], which: str) -> Response:
    """Show an alert rule"""
    return answered(_shown(which, app_seen(query["app"])))


@alerts.add(
    "PATCH", "/alerts/<which>", Role.AUTHOR, AlertRuleShape, query=OfApp, body=ChangeRuleBody, refused=(404, 409)
)
def change(query: dict[str, Any], body: dict[str, Any], which: str) -> Response:
    """Change an alert rule

    What is left out stays, the webhook and what signs among it. 409: rules of several apps have this name.
    """
    done = change_rule(engine(), _seal(), which, body, app=app_seen(query["app"]), actor=actor())
    return answered(_shown(done.id, None))


@alerts.add("DELETE", "/alerts/<which>", Role.AUTHOR, None, status=204, query=DeleteQuery, refused=(404, 409))
def delete(query: dict[str, Any], which: str) -> Response:
    """Delete an alert rule with what it has found"""
    delete_rule(engine(), which, app=app_seen(query["app"]), reason=query["reason"], actor=actor())
    return Response(status=204)


@alerts.get("/alerts/<which>/found", AlertPage, query=FoundQuery, refused=(404,))
def found(query: dict[str, Any], which: str) -> Response:
    """List what a rule has found, latest first"""
    with database().transaction() as conn:
        chosen = {"app": app_seen(query["app"]), "open": query["open"]}
        return paged(list_alerts(conn, which, query["after"], query["limit"], **chosen))


@alerts.get("/alerts/<which>/deliveries", AlertDeliveryPage, query=OfRuleQuery, refused=(404,))
def deliveries(query: dict[str, Any], which: str) -> Response:
    """List the messages of a rule, latest first"""
    with database().transaction() as conn:
        return paged(list_deliveries(conn, which, query["after"], query["limit"], app=app_seen(query["app"])))


_ACT: dict[str, Any] = {"role": Role.OPERATOR, "query": OfApp, "refused": (404, 409)}


@alerts.post("/alerts/<which>/pause", AlertRuleShape, body=WhyBody, **_ACT)
def pause(query: dict[str, Any], body: dict[str, Any], which: str) -> Response:
    """Let an alert rule tell nothing until it is resumed

    What is on its way is given up.
    """
    id = pause_rule(engine(), which, app=app_seen(query["app"]), reason=body["reason"], actor=actor())
    return answered(_shown(id, None))


@alerts.post("/alerts/<which>/resume", AlertRuleShape, body=WhyBody, **_ACT)
def resume(query: dict[str, Any], body: dict[str, Any], which: str) -> Response:
    """Let a paused alert rule tell again, from now on"""
    id = resume_rule(engine(), which, app=app_seen(query["app"]), reason=body["reason"], actor=actor())
    return answered(_shown(id, None))


@alerts.post("/alerts/<which>/test", AlertTestShape, status=202, **_ACT)
def test(query: dict[str, Any], which: str) -> Response:
    """Send a test message to each channel of a rule

    The coordinator sends it, as all others: what came of it is among the deliveries.
    """
    ids = try_rule(engine(), which, app=app_seen(query["app"]), actor=actor())
    with database().transaction() as conn:
        return answered({"items": deliveries_of(conn, ids)}, 202)


def _seal() -> Seal:
    seal: Seal = current_app.extensions["orchestrator.seal"]
    return seal


def _shown(which: str, app: str | None) -> dict[str, Any]:
    with database().transaction() as conn:
        return get_rule(conn, which, app=app)
