"""One run: how it stands, its graph, its times, its steps."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from flask import Response, current_app, jsonify, make_response, request

from orchestrator.domain.done import placed
from orchestrator.domain.drawing.chart import chart
from orchestrator.domain.graph import Plan
from orchestrator.domain.states import StepStatus
from orchestrator.services.done import done
from orchestrator.store.reads import RunNow, get_run, journal_head, list_events, step_counts
from orchestrator.store.reads.run_head import run_head
from orchestrator.store.reads.run_states import RunStates, run_states
from orchestrator.store.reads.step_rows import StepFilters, list_spans, list_step_rows
from orchestrator.store.reads.trace import trace_id
from web.application import database, engine
from web.bounded import Bounded
from web.pages.forms import whole_number
from web.pages.frame import is_fragment, page_blueprint, render
from web.pages.gantt import draw_timeline
from web.pages.open_run import open_run

run = page_blueprint("run")

TABS = {"graph": "Graph", "timeline": "Timeline", "steps": "Steps", "data": "Input & output", "events": "Events"}
_PAGE = 100
_BARS = 60
_STATUSES: frozenset[str] = frozenset(StepStatus)
_charts: Bounded[str, str] = Bounded(50)  # JSON by revision, which never changes


@run.get("/runs/<run_id>")
def show(run_id: str) -> str:
    """The page; asked for by htmx, only its head."""
    now = open_run(run_id)
    tab = request.args.get("tab", "graph")
    with database().transaction() as conn:
        plan = engine().plans.get(conn, now.revision_id)
        values: dict[str, Any] = {"head": run_head(conn, now.id), "counts": step_counts(conn, now.id)}
        values |= {"trace": _trace(trace_id(conn, now.id))}
        values |= {"generation": journal_head(conn, now.id)["generation"] if plan.code else 0}
    template = "run/head.html" if is_fragment() and request.headers.get("HX-Target") == "run-head" else "run/show.html"
    return render(
        template, run=now, tab=tab if tab in TABS else "graph", tabs=TABS, step=_number("step"), **_code(plan), **values
    )


def _trace(id: str | None) -> dict[str, str] | None:
    """The trace and where it is shown; None where nobody has said where."""
    template = current_app.config["TRACE_URL"]
    return None if id is None or not template else {"id": id, "url": template.replace("{trace_id}", id)}


def _code(plan: Plan) -> dict[str, Any]:
    """What a run of a function is a run of."""
    definition = plan.definition
    return {"code": definition.steps[0].code if plan.code else None, "version": definition.version}


@run.get("/runs/<run_id>/graph.json")
def graph(run_id: str) -> Response:
    """Where the steps stand in the picture; the same for all runs of the revision, unless a function makes them."""
    now = open_run(run_id)
    drawn = _charts.get(now.revision_id)
    lasts = True
    if drawn is None:
        with database().transaction() as conn:
            plan = engine().plans.get(conn, now.revision_id)
            found = done(conn, plan, now.id)
        lasts = not plan.code
        drawn = json.dumps(placed(chart(found.plan), found) if plan.code else chart(plan), separators=(",", ":"))
        if lasts:
            _charts.put(now.revision_id, drawn)
    answer = make_response(drawn)
    answer.mimetype = "application/json"
    answer.headers["Cache-Control"] = "private, max-age=86400" if lasts else "no-store"
    return answer


@run.get("/runs/<run_id>/states.json")
def states(run_id: str) -> Response:
    """The statuses of all steps; 204 when they are those that the asker has (`known`)."""
    now = open_run(run_id)
    with database().transaction() as conn:
        body = _states(now, run_states(conn, now.id))
    body["known"] = hashlib.sha256(json.dumps(body).encode()).hexdigest()[:16]
    return make_response("", 204) if body["known"] == request.args.get("known") else jsonify(body)


_LETTERS = {status.value: letter for status, letter in zip(StepStatus, "prqRwsfcku", strict=True)}


def _states(now: RunNow, found: RunStates) -> dict[str, Any]:
    """`letters` for the positions from 0 on, `.` for one without a row; `names` tells them."""
    letters = ["."] * (found.states[-1][0] + 1 if found.states else 0)
    for position, status in found.states:
        letters[position] = _LETTERS[status]
    return {
        "status": now.status.value,
        "letters": "".join(letters),
        "names": {letter: status for status, letter in _LETTERS.items()},
        "items": found.items,
        "children": found.children,
        "held": found.held,
    }


@run.get("/runs/<run_id>/steps")
def steps(run_id: str) -> str:
    """A page of the steps."""
    now, filters = open_run(run_id), _step_filters()
    with database().transaction() as conn:
        rows, following = list_step_rows(conn, now.id, filters, _number("after"), _PAGE)
        counts = step_counts(conn, now.id)
    shown: dict[str, Any] = {"rows": rows, "next": following, "counts": counts, "filters": filters}
    return render("run/steps.html", run=now, **shown)


@run.get("/runs/<run_id>/timeline")
def timeline(run_id: str) -> str:
    """When the steps of a page ran."""
    now, filters = open_run(run_id), _step_filters()
    with database().transaction() as conn:
        rows, following = list_step_rows(conn, now.id, filters, _number("after"), _BARS)
        spans = list_spans(conn, now.id, [row.position for row in rows])
    drawn = draw_timeline(rows, spans, now.now)
    return render("run/timeline.html", run=now, rows=rows, next=following, timeline=drawn, filters=filters)


@run.get("/runs/<run_id>/data")
def data(run_id: str) -> str:
    """What went in and came out."""
    now = open_run(run_id)
    with database().transaction() as conn:
        view = get_run(conn, now.id)
    return render("run/data.html", run=now, view=view)


@run.get("/runs/<run_id>/events")
def events(run_id: str) -> str:
    """What happened to it, oldest first."""
    now = open_run(run_id)
    with database().transaction() as conn:
        page = list_events(conn, now.id, request.args.get("after"), _PAGE)
    return render("run/events.html", run=now, page=page)


def _step_filters() -> StepFilters:
    given = request.args
    statuses = [StepStatus(one) for one in dict.fromkeys(given.getlist("status")) if one in _STATUSES]
    return StepFilters(statuses, given.get("name", "").strip()[:255], _number("first") or 0, _number("last"))


def _number(name: str) -> int | None:
    return whole_number(request.args.get(name, ""))
