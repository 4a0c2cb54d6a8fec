"""The schedules, and one of them: when it fires, what came of its fire times."""

from __future__ import annotations

from typing import Any

from flask import request, url_for

from orchestrator.domain.times import span
from orchestrator.errors import NotFound
from orchestrator.ids import is_id
from orchestrator.store.reads import Page, list_apps
from orchestrator.store.reads.schedules import STANDINGS, get_schedule, list_fires, list_schedules
from web.application import database
from web.pages.frame import page_blueprint, render, scope

schedules = page_blueprint("schedules")

_PAGE = 50
_FIRES = 25


@schedules.get("/schedules")
def index() -> str:
    """The list; asked for by htmx, it lives."""
    query = _query()
    with database().transaction() as conn:
        try:
            page = list_schedules(conn, request.args.get("after") or None, _PAGE, **query)
        except NotFound:
            page = Page([])  # no app has the name
        apps = [one["name"] for one in list_apps(conn)] if scope() is None else []
    values: dict[str, Any] = {"page": page, "query": query, "url": _url, "when": when}
    if request.headers.get("HX-Target") == "schedules-list":
        return render("schedules/list.html", **values)
    return render("schedules/index.html", apps=apps, standings=list(STANDINGS), **values)


@schedules.get("/schedules/schedule")
def show() -> str:
    """One schedule; asked for by htmx, what changes of it."""
    schedule = of_id(request.args.get("id", ""))
    after = request.args.get("after") or None
    with database().transaction() as conn:
        fires = list_fires(conn, schedule["id"], after, _FIRES)
    part = request.headers.get("HX-Target") == "schedule-now"
    template = "schedules/now.html" if part else "schedules/show.html"
    return render(template, schedule=schedule, fires=fires, after=after, when=when, span=span)


def of_id(id: str) -> dict[str, Any]:
    """The schedule of an id; raises `NotFound`, also for one of an app that is closed to who asks."""
    if not is_id(id):
        raise NotFound(f"there is no schedule '{id}'")
    with database().transaction() as conn:
        return get_schedule(conn, id, app=scope())


def when(schedule: dict[str, Any]) -> str:
    """Its rule in words: `30 2 * * *`, `each 15 min`."""
    cron = schedule["cron"]
    return str(cron) if cron is not None else f"each {span(schedule['interval_seconds'])}"


def _query() -> dict[str, Any]:
    standing = request.args.get("standing", "")
    return {
        "app": scope(request.args.get("app", "").strip() or None),
        "workflow": request.args.get("workflow", "").strip() or None,
        "standing": standing if standing in STANDINGS else None,
        "words": request.args.get("q", "").strip(),
    }


def _url(**changes: Any) -> str:
    """The list with other filters."""
    given = _query() | changes
    words = given.pop("words")
    return url_for("schedules.index", **given, q=words or None)
