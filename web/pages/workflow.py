"""One workflow: its graph, how it goes, its revisions and what changed between them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from flask import Response, request, url_for

from orchestrator.domain.build import build
from orchestrator.domain.codes import code_of
from orchestrator.domain.difference import as_yaml, difference_text
from orchestrator.domain.graph import make_plan
from orchestrator.domain.roles import Role
from orchestrator.errors import Conflict, NotFound
from orchestrator.services.unregister import unregister
from orchestrator.store.reads import RunFilters, get_revision, list_revisions
from orchestrator.store.reads.run_rows import list_run_rows
from orchestrator.store.reads.workflow_rows import lately_of
from web.application import database, engine
from web.auth import actor
from web.pages.forms import whole_number
from web.pages.frame import done, needs, page_blueprint, render, scope, show_errors
from web.pages.graph_view import graph_view
from web.pages.owner import Meant, check_change, may_change, meant, owner_query, workflow_of
from web.pages.run_query import RunQuery
from web.pages.sparks import sparks

workflow = page_blueprint("workflow")

_RUNS = 10
_REVISIONS = 30
_MOST_SHOWN = 400_000  # characters of a document that a page shows


@workflow.get("/workflow")
def show() -> str:
    """How it goes, its graph and its last runs."""
    which = meant()
    found = workflow_of(which)
    app = scope() or which.app if found["owner"]["kind"] == "app" or scope() else None
    with database().transaction() as conn:
        lately = lately_of(conn, [found["id"]], app=app)[found["id"]]
        runs = list_run_rows(conn, RunFilters(workflow=found["name"], app=app), limit=_RUNS)
    query = RunQuery(workflow=found["name"], app=app or "")
    values: dict[str, Any] = {
        "lately": lately,
        "runs": runs.items,
        "query": query,
        "now": datetime.now(UTC).isoformat(),
    }
    return render("workflow/show.html", sparks=sparks, **_head(which, found), **values)


@workflow.get("/workflow/graph")
def graph() -> str:
    """The picture of a revision."""
    which = meant()
    number = _number("revision")
    document = workflow_of(which)["document"] if number is None else _revision(which, number)["document"]
    return render("workflow/graph.html", drawn=graph_view(make_plan(build(document))), name=which.name)


@workflow.get("/workflow/revisions")
def revisions() -> str:
    """The revisions, the document of one, and with `from` what changed since another."""
    which = meant()
    found = workflow_of(which)
    with database().transaction() as conn:
        page = list_revisions(conn, which.name, request.args.get("after"), _REVISIONS, app=which.app, group=which.group)
    number = _number("revision") or found["revision"]
    shown, before = _revision(which, number), _number("from")
    text = as_yaml(shown["document"])
    values: dict[str, Any] = {"page": page, "shown": shown, "before": before, "after": request.args.get("after")}
    values |= {"text": text[:_MOST_SHOWN], "cut": len(text) > _MOST_SHOWN, "difference": None}
    if before is not None:
        changed = difference_text(_revision(which, before)["document"], shown["document"])
        values["difference"] = changed[:_MOST_SHOWN].splitlines()
    return render("workflow/revisions.html", **_head(which, found), **values)


@workflow.get("/workflow/unregister")
@needs(Role.AUTHOR)
def ask_unregister() -> str:
    which = meant()
    found = workflow_of(which)
    check_change(found)
    return render("workflow/unregister.html", errors={}, given={}, **_head(which, found))


@workflow.post("/workflow/unregister", endpoint="unregister")
@needs(Role.AUTHOR)
def delete() -> Response:
    which = meant()
    found = workflow_of(which)
    check_change(found)
    force = request.form.get("force") == "yes"
    reason = request.form.get("reason", "").strip() or None
    try:
        unregister(engine(), found["name"], **owner_query(found), force=force, reason=reason, actor=actor())
    except (Conflict, NotFound) as error:
        head = _head(which, found)
        return show_errors("workflow/unregister.html", errors={"": str(error)}, given=request.form, **head)
    return done(url_for("workflows.index"), f"The workflow '{found['name']}' is unregistered.")


def _head(which: Meant, found: dict[str, Any]) -> dict[str, Any]:
    """What the top of each of its pages shows."""
    return {"which": which, "workflow": found, "code": code_of(found["document"]), "changes": may_change(found)}


def _revision(which: Meant, number: int) -> dict[str, Any]:
    with database().transaction() as conn:
        return get_revision(conn, which.name, number, app=which.app, group=which.group)


def _number(name: str) -> int | None:
    return whole_number(request.args.get(name, ""))
