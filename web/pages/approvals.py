"""The inbox: approvals that wait, and the form to decide one. Who decides first has decided."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from flask import Response, request, url_for

from orchestrator.domain.roles import Role
from orchestrator.errors import Conflict, InvalidInput, NotFound, OrchestratorError
from orchestrator.services.decide import decide
from orchestrator.store.reads import list_approvals
from orchestrator.store.reads.approvals import get_approval
from web.application import database, engine
from web.auth import actor
from web.pages.forms import whole_number
from web.pages.frame import check_scope, done, needs, page_blueprint, render, scope, show_errors
from web.pages.schema_form import Field, beside_fields, form_of, read_form

approvals = page_blueprint("approvals")

_PAGE = 50


@approvals.get("/approvals")
def index() -> str:
    """The list; asked for by htmx, it lives."""
    after = request.args.get("after") or None
    with database().transaction() as conn:
        page = list_approvals(conn, scope(), after, _PAGE)
    values = {"page": page, "after": after, "now": datetime.now(UTC).isoformat()}
    part = request.headers.get("HX-Target") == "approvals-list"
    return render("approvals/list.html" if part else "approvals/index.html", **values)


@approvals.get("/approvals/decide")
@needs(Role.OPERATOR)
def ask() -> str:
    """The question, and the form to answer it."""
    return render("approvals/decide.html", given=None, errors={}, **_asked())


@approvals.post("/approvals/decide", endpoint="decide")
def answer() -> Response:
    shown = _asked()
    one, fields = shown["one"], shown["fields"]
    if one is None:
        return show_errors("approvals/decide.html", given=None, errors={}, **shown)
    errors: dict[str, str] = {}
    approved = request.form.get("decision") == "approve"
    values = read_form(fields, request.form, errors) if approved else {}
    comment = request.form.get("comment", "").strip() or None
    if not errors:
        try:
            decide(
                engine(), one["run_id"], one["step"], approved, values, item=one["item"], comment=comment, actor=actor()
            )
            return done(shown["back"], f"'{one['title']}' is {'approved' if approved else 'rejected'}.")
        except (InvalidInput, Conflict, NotFound) as error:
            errors = _told(error, fields)
    return show_errors("approvals/decide.html", given=request.form, errors=errors, **shown)


def _told(error: OrchestratorError, fields: tuple[Field, ...]) -> dict[str, str]:
    if isinstance(error, InvalidInput):
        return beside_fields(fields, error.problems, "fields")
    return {"": f"{str(error)[:1].upper()}{str(error)[1:]}."}


def _asked() -> dict[str, Any]:
    """The approval that is meant; `one` is None when it does not wait any more."""
    run_id, step, item = request.values.get("run", ""), request.values.get("step", ""), _item()
    with database().transaction() as conn:
        app, one, told = get_approval(conn, run_id, step, item)
    check_scope(app)
    schema = {"properties": (one or {}).get("fields") or {}}
    needed = [name for name, part in schema["properties"].items() if "default" not in part]
    fields = form_of(schema | {"required": needed}, "fields") or ()
    of_run = request.args.get("of_run") == "1"
    back = url_for("step.by_name", run_id=run_id, name=step) if of_run else url_for("approvals.index")
    values = {"one": one, "fields": fields, "run_id": run_id, "step": step, "item": item, "decided": told}
    return values | {"back": back, "of_run": of_run}


def _item() -> int | None:
    return whole_number(request.values.get("item", ""))
