"""Test, pause, resume and delete an alert rule: asked for first, with what it will do."""

from __future__ import annotations

from typing import Any

from flask import Response, request, url_for

from orchestrator.domain.roles import Role
from orchestrator.errors import Conflict, NotFound
from orchestrator.services.alert_rules import delete_rule, pause_rule, resume_rule, try_rule
from web.application import engine
from web.auth import actor
from web.pages.alerts import of_id
from web.pages.frame import done, needs, page_blueprint, render, show_errors

alert_acts = page_blueprint("alert_acts")

_VERBS = ("test", "pause", "resume")


@alert_acts.get("/alerts/act")
def ask() -> str:
    """What the act means."""
    return render("alerts/act.html", rule=_meant(), verb=_verb(), given={}, errors={})


@alert_acts.post("/alerts/act")
def do() -> Response:
    rule, verb = _meant(), _verb()
    try:
        told = _do(rule["id"], verb)
    except Conflict as error:
        values: dict[str, Any] = {"given": request.form, "errors": {"": str(error)}}
        return show_errors("alerts/act.html", rule=rule, verb=verb, **values)
    return done(url_for("alerts.show", id=rule["id"]), told)


def _do(id: str, verb: str) -> str:
    if verb == "test":
        try_rule(engine(), id, actor=actor())
        return "A test is on its way: what becomes of it shows below."
    if verb == "pause":
        pause_rule(engine(), id, reason=_reason(), actor=actor())
        return "The alert is paused."
    resume_rule(engine(), id, reason=_reason(), actor=actor())
    return "The alert tells again."


@alert_acts.get("/alerts/delete")
@needs(Role.AUTHOR)
def ask_delete() -> str:
    return render("alerts/delete.html", rule=_meant())


@alert_acts.post("/alerts/delete")
@needs(Role.AUTHOR)
def delete() -> Response:
    rule = _meant()
    delete_rule(engine(), rule["id"], reason=_reason(), actor=actor())
    return done(url_for("alerts.index"), f"The alert '{rule['name']}' is deleted.")


def _meant() -> dict[str, Any]:
    return of_id(request.args.get("id", ""))


def _verb() -> str:
    verb = request.args.get("verb", "")
    if verb not in _VERBS:
        raise NotFound(f"there is no act '{verb}'")
    return verb


def _reason() -> str | None:
    return request.form.get("reason", "").strip() or None
