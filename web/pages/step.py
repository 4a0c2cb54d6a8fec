"""One step: what it was given, gave and said, and why it is as it is."""

from __future__ import annotations

from typing import Any

from flask import Response, make_response, redirect, request, url_for

from orchestrator.domain.states import StepStatus
from orchestrator.services.why import why
from orchestrator.store.reads import get_brief, get_step, last_logs, list_attempts, list_items
from orchestrator.store.reads.step_rows import step_name
from web.application import database, engine
from web.pages.frame import identity, page_blueprint, render
from web.pages.open_run import open_run

step = page_blueprint("step")

_LINES = 500
_ITEMS = 50
_STATUSES: frozenset[str] = frozenset(StepStatus)


@step.get("/runs/<run_id>/step/<int:position>")
def show(run_id: str, position: int) -> str:
    """In the drawer of the run's page, or alone."""
    run = open_run(run_id)
    with database().transaction() as conn:
        name = step_name(conn, run.id, position)
        view, brief = get_step(conn, run.id, name), get_brief(conn, run.id, name)
        values: dict[str, Any] = {"view": view, "brief": brief, "attempts": list_attempts(conn, run.id, name)}
        plan = engine().plans.get(conn, run.revision_id)
        told = [] if brief.status.terminal else why(conn, plan, run.id, name, one_app=identity().app is not None)
    return render("run/step.html", run=run, position=position, why=told, code=plan.code, **values)


@step.get("/runs/<run_id>/step")
def by_name(run_id: str) -> Response:
    """To the step of a name."""
    run = open_run(run_id)
    with database().transaction() as conn:
        found = get_brief(conn, run.id, request.args.get("name", ""))
    return make_response(redirect(url_for("run.show", run_id=run.id, step=found.position), 303))


@step.get("/runs/<run_id>/step/<int:position>/logs")
def logs(run_id: str, position: int) -> str:
    """The last lines it logged and printed."""
    run = open_run(run_id)
    with database().transaction() as conn:
        name = step_name(conn, run.id, position)
        lines, brief = last_logs(conn, run.id, name, _LINES + 1), get_brief(conn, run.id, name)
    live = not brief.status.terminal
    return render(
        "run/logs.html", run=run, position=position, lines=lines[-_LINES:], more=len(lines) > _LINES, live=live
    )


@step.get("/runs/<run_id>/step/<int:position>/items")
def items(run_id: str, position: int) -> str:
    """A page of its items."""
    run, status = open_run(run_id), request.args.get("status", "")
    wanted = StepStatus(status) if status in _STATUSES else None
    with database().transaction() as conn:
        name = step_name(conn, run.id, position)
        page = list_items(conn, run.id, name, wanted, request.args.get("after"), _ITEMS)
    return render("run/items.html", run=run, position=position, page=page, status=status if wanted else None)
