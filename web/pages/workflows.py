"""The workflows, and how the last runs of each went."""

from __future__ import annotations

from typing import Any

from flask import request, url_for

from orchestrator.errors import NotFound
from orchestrator.store.reads import Page, list_apps
from orchestrator.store.reads.schedules import next_fire_of
from orchestrator.store.reads.workflow_rows import lately_of, list_workflow_rows
from orchestrator.store.workflows import name_key
from web.application import database
from web.pages.frame import page_blueprint, render, scope
from web.pages.sparks import sparks

workflows = page_blueprint("workflows")

_PAGE = 20


@workflows.get("/workflows")
def index() -> str:
    words, after = request.args.get("q", "").strip(), request.args.get("after") or None
    asked = request.args.get("app", "").strip()
    app = scope(asked or None)
    with database().transaction() as conn:
        try:
            page = list_workflow_rows(conn, words=words, app=app, after=after, limit=_PAGE)
        except NotFound:
            page = Page([])  # nothing was registered yet, or no app has the name
        lately = lately_of(conn, [one["id"] for one in page.items], app=app) if page.items else {}
        fires = next_fire_of(conn, [one["name"] for one in page.items], app=app) if page.items else {}
        apps = [one["name"] for one in list_apps(conn)] if scope() is None else []
    values: dict[str, Any] = {"page": page, "lately": lately, "apps": apps, "asked": asked}
    values["next_fire"] = lambda one: fires.get(name_key(one["name"]))
    return render("workflows/index.html", words=words, after=after, sparks=sparks, url=owned_url, **values)


def owned_url(one: dict[str, Any], endpoint: str = "workflow.show", **more: Any) -> str:
    """The page of a workflow of the list, as its owner's."""
    owner = one["owner"]
    kind = "app" if scope() is not None else owner["kind"]
    query: dict[str, Any] = {"name": one["name"], kind: scope() or owner["name"]}
    return url_for(endpoint, **query | more)
