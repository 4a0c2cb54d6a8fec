"""The form of a schedule: what it would do is told while it is typed, what is wrong beside its field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flask import Response, request, url_for

from orchestrator.domain.cron import zone_names
from orchestrator.domain.firing import Overlap
from orchestrator.domain.roles import Role
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.schedule_spec import DEFAULTS, preview
from orchestrator.services.schedules import change_schedule, create_schedule
from orchestrator.store.reads import list_apps, list_workflows
from orchestrator.store.reads.page import iso
from web.application import database, engine
from web.auth import actor
from web.pages.forms import beside, json_field, whole_number
from web.pages.frame import done, needs, page_blueprint, render, scope, show_errors
from web.pages.schedules import of_id

schedule_form = page_blueprint("schedule_form")

_NUMBERS = ("interval_seconds", "catchup_seconds", "jitter_seconds", "max_failures", "revision")
_FIELDS = {name: name for name in (*DEFAULTS, "name")}
_SHOWN = 5
_MOST_NAMES = 500


@schedule_form.get("/schedules/edit")
@needs(Role.AUTHOR)
def edit() -> str:
    """The form, as the schedule is, or for a new one."""
    schedule = _meant()
    shown = schedule or {**DEFAULTS, "workflow": request.args.get("workflow", ""), "cron": "30 2 * * *"}
    return render("schedules/edit.html", given=_texts(shown), errors={}, **_around(schedule), **_previewed(shown))


@schedule_form.post("/schedules/preview")
def preview_rule() -> str:
    """The next fire times of what is typed."""
    errors: dict[str, str] = {}
    return render("schedules/preview.html", **_previewed(_rule(_said(errors)), errors))


@schedule_form.post("/schedules/edit", endpoint="store")
@needs(Role.AUTHOR)
def store() -> Response:
    schedule, form = _meant(), request.form
    errors: dict[str, str] = {}
    said = _said(errors)
    try:
        if not errors:
            return _stored(schedule, said)
    except (InvalidInput, Conflict, NotFound) as error:
        errors = {"workflow": str(error)} if isinstance(error, NotFound) else beside(error, _FIELDS)
    values = _around(schedule) | _previewed(_rule(said))
    return show_errors("schedules/edit.html", given=form, errors=errors, **values)


def _stored(schedule: dict[str, Any] | None, said: dict[str, Any]) -> Response:
    if schedule is not None:
        done_ = change_schedule(engine(), schedule["id"], said, app=scope(), actor=actor())
        told = "The schedule is changed." if done_.changed else "Nothing was changed."
        return done(url_for("schedules.show", id=schedule["id"]), told)
    app = scope(request.form.get("app") or None)
    paused = request.form.get("paused") == "yes"
    id = create_schedule(engine(), request.form.get("name", "").strip(), said, app=app, paused=paused, actor=actor())
    return done(url_for("schedules.show", id=id), "The schedule is made.")


def _meant() -> dict[str, Any] | None:
    id = request.args.get("id")
    return None if id is None else of_id(id)


def _around(schedule: dict[str, Any] | None) -> dict[str, Any]:
    app = schedule["app"] if schedule is not None else scope()
    with database().transaction() as conn:
        apps = [one["name"] for one in list_apps(conn)] if app is None else []
        known = app or (engine().settings.app if engine().settings.app in apps else None)
        workflows = [one["name"] for one in list_workflows(conn, limit=_MOST_NAMES, app=known).items]
    words = {"apps": apps, "default_app": engine().settings.app, "workflows": sorted(set(workflows))}
    return {"schedule": schedule, "zones": sorted(zone_names()), "overlaps": list(Overlap), **words}


def _texts(shown: Mapping[str, Any]) -> dict[str, Any]:
    """What is there as a form shows it."""
    texts = {name: "" if shown[name] is None else str(shown[name]) for name in DEFAULTS}
    kind = "cron" if shown["cron"] is not None else "interval"
    input = json.dumps(shown["input"], ensure_ascii=False, indent=2)
    return texts | {"input": input, "tags": ", ".join(shown["tags"]), "kind": kind}


def _said(errors: dict[str, str]) -> dict[str, Any]:
    """What the form says; what cannot be read is put into `errors`."""
    form = request.form
    numbers = {name: _number(name, errors) for name in _NUMBERS}
    by_cron = form.get("kind") != "interval"
    said = {
        "workflow": form.get("workflow", "").strip(),
        "cron": form.get("cron", "").strip() if by_cron else None,
        "timezone": form.get("timezone", "").strip() or "UTC",
        "overlap": form.get("overlap", ""),
        "input": json_field(form, "input", errors, empty={}),
        "tags": [tag.strip() for tag in form.get("tags", "").split(",") if tag.strip()],
    }
    return numbers | said | {"interval_seconds": None if by_cron else numbers["interval_seconds"]}


def _number(name: str, errors: dict[str, str]) -> int | None:
    words = request.form.get(name, "").strip()
    found = whole_number(words)
    if found is None and words:
        errors[name] = "A whole number."
    return found if words else DEFAULTS[name]


def _rule(said: Mapping[str, Any]) -> dict[str, Any]:
    rule = {name: said[name] for name in ("cron", "interval_seconds", "timezone")}
    return {name: value for name, value in rule.items() if value is not None}


def _previewed(shown: Mapping[str, Any], errors: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The next fire times, or why there are none."""
    try:
        times = [iso(at) for at in preview(_rule({**DEFAULTS, **shown}), _SHOWN)]
        fault = "It never fires again." if not times else None
    except InvalidInput as error:
        times, fault = [], "; ".join(f"{p.path}: {p.message}" for p in error.problems)
    told = next((errors[name] for name in ("interval_seconds",) if name in errors), None) if errors else None
    return {"next": times, "fault": told or fault, "zone": shown.get("timezone", "UTC")}
