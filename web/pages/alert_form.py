"""The form of an alert rule; what is wrong is told beside its field. What is secret is typed anew, never shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Response, current_app, request, url_for

from orchestrator.domain.alerts import Kind, Severity
from orchestrator.domain.roles import Role
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.alert_rules import ALL_APPS, change_rule, create_rule
from orchestrator.services.alert_spec import DEFAULTS
from orchestrator.services.seal import Seal
from orchestrator.store.reads import list_apps, list_workflows
from web.application import database, engine
from web.auth import actor
from web.pages.alerts import of_id
from web.pages.forms import beside, whole_number
from web.pages.frame import done, identity, needs, page_blueprint, render, scope, show_errors

alert_form = page_blueprint("alert_form")

_NUMBERS = ("late_seconds", "stuck_seconds", "group_seconds", "repeat_seconds")
_FIELDS = {name: name for name in (*DEFAULTS, "name", "webhook", "secret")}
_MOST_NAMES = 500
_KINDS = (
    (Kind.RUN_FAILED, "A run fails", "told together for a workflow"),
    (Kind.RUN_LATE, "A run is late", "past its deadline, or open for longer than below"),
    (Kind.RUN_CANCELED, "A run is canceled", ""),
    (Kind.QUEUE_STUCK, "A queue is stuck", "steps wait, and nothing takes them"),
    (Kind.SCHEDULE_PAUSED, "A schedule is paused after failures", ""),
    (Kind.SCHEDULE_LATE, "A schedule is late", "no coordinator has fired it"),
    (Kind.SCHEDULE_ERROR, "A schedule cannot start its run", ""),
)


@alert_form.get("/alerts/edit")
@needs(Role.AUTHOR)
def edit() -> str:
    """The form, as the rule is, or for a new one."""
    rule = _meant()
    shown = rule or {**DEFAULTS, "kinds": [Kind.RUN_FAILED], "workflow": request.args.get("workflow") or None}
    return render("alerts/edit.html", given=_texts(shown), errors={}, **_around(rule))


@alert_form.post("/alerts/edit", endpoint="store")
@needs(Role.AUTHOR)
def store() -> Response:
    rule, errors = _meant(), dict[str, str]()
    said = _said(errors, rule)
    try:
        if not errors:
            return _stored(rule, said)
    except (InvalidInput, Conflict, NotFound) as error:
        errors = beside(error, _FIELDS)
    given = {**request.form, "kinds": request.form.getlist("kinds"), "resolved": said["resolved"], "webhook": ""}
    return show_errors("alerts/edit.html", given=given | {"secret": ""}, errors=errors, **_around(rule))


def _stored(rule: dict[str, Any] | None, said: dict[str, Any]) -> Response:
    seal: Seal = current_app.extensions["orchestrator.seal"]
    if rule is not None:
        set_ = change_rule(engine(), seal, rule["id"], said, app=scope(), actor=actor())
        told = "The alert is changed." if set_.changed else "Nothing was changed."
        return done(url_for("alerts.show", id=rule["id"]), told)
    wanted = request.form.get("app") or None
    app = ALL_APPS if wanted == ALL_APPS and identity().app is None else scope(wanted)
    id = create_rule(engine(), seal, request.form.get("name", "").strip(), said, app=app, actor=actor())
    return done(
        url_for("alerts.show", id=id), "The alert is made. Test it: a message that does not arrive tells nobody."
    )


def _meant() -> dict[str, Any] | None:
    id = request.args.get("id")
    return None if id is None else of_id(id)


def _around(rule: dict[str, Any] | None) -> dict[str, Any]:
    app = rule["app"] if rule is not None else scope()
    with database().transaction() as conn:
        apps = [one["name"] for one in list_apps(conn)] if app is None and rule is None else []
        workflows = [one["name"] for one in list_workflows(conn, limit=_MOST_NAMES, app=app).items]
    words = {"apps": apps, "default_app": engine().settings.app, "workflows": sorted(set(workflows))}
    return {"rule": rule, "kinds": _KINDS, "severities": list(Severity), "all_apps": ALL_APPS, **words}


def _texts(shown: Mapping[str, Any]) -> dict[str, Any]:
    """What is there as a form shows it."""
    texts = {name: "" if shown[name] is None else str(shown[name]) for name in (*_NUMBERS, "workflow", "queue")}
    lists = {name: ", ".join(shown[name]) for name in ("tags", "emails")}
    return texts | lists | {"kinds": list(shown["kinds"]), "severity": shown["severity"], "resolved": shown["resolved"]}


def _said(errors: dict[str, str], rule: dict[str, Any] | None) -> dict[str, Any]:
    """What the form says; what cannot be read is put into `errors`. A webhook that is not typed stays as it is."""
    form = request.form
    said: dict[str, Any] = {name: _number(name, errors) for name in _NUMBERS}
    said |= {name: form.get(name, "").strip() or None for name in ("workflow", "queue")}
    said |= {name: [one.strip() for one in form.get(name, "").split(",") if one.strip()] for name in ("tags", "emails")}
    said |= {"kinds": form.getlist("kinds"), "severity": form.get("severity", "")}
    said["resolved"] = form.get("resolved") == "yes"
    for name in ("webhook", "secret"):
        if form.get(name, "").strip() or form.get(f"no_{name}") == "yes":
            said[name] = None if form.get(f"no_{name}") == "yes" else form[name].strip()
    return said


def _number(name: str, errors: dict[str, str]) -> int | None:
    words = request.form.get(name, "").strip()
    found = whole_number(words)
    if found is None and words:
        errors[name] = "A whole number."
    return found if words else DEFAULTS[name]
