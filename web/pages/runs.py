"""The runs, newest first, and what can be done to many of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from flask import Response, redirect, request, url_for

from orchestrator.domain.states import RunStatus
from orchestrator.errors import InvalidInput, NotFound
from orchestrator.store.reads import RunFilters, find_run
from orchestrator.store.reads.apps import list_apps
from orchestrator.store.reads.run_rows import RunRows, list_run_rows
from web.application import database
from web.pages.frame import is_fragment, page_blueprint, render, scope
from web.pages.over_time import bars, highest, totals
from web.pages.over_time import over_time as histograms
from web.pages.run_query import RANGE_WORDS, RunQuery

runs = page_blueprint("runs")

_PAGE = 50
_HEIGHT = 64.0  # of the histogram
_SHOWN_IN_PLACE = "runs-list"


@runs.get("/runs")
def index() -> str:
    """The list; asked for by htmx, only the list."""
    query, now = RunQuery.of(request.args), datetime.now(UTC)
    fault = None
    try:
        rows = _rows(query, now)
    except NotFound as error:
        rows, fault = RunRows([]), str(error)
    live = not request.args.get("after") and not request.args.get("before")
    values: dict[str, Any] = {"query": query, "rows": rows, "now": now.isoformat(), "live": live, "fault": fault}
    if is_fragment() and request.headers.get("HX-Target") == _SHOWN_IN_PLACE:
        return render("runs/list.html", **values)
    return render("runs/index.html", statuses=list(RunStatus), ranges=RANGE_WORDS, apps=_apps(), **values)


@runs.get("/runs/over-time")
def over_time() -> str:
    """The histogram."""
    query, now = RunQuery.of(request.args), datetime.now(UTC)
    since, until = query.span(now)
    try:
        buckets, whole = histograms().buckets(_filters(query, now), since, until, now)
    except NotFound:
        buckets, whole = [], True
    drawn = bars(query, buckets, highest(buckets), _HEIGHT)
    return render("runs/over_time.html", query=query, bars=drawn, total=totals(buckets), whole=whole, height=_HEIGHT)


@runs.get("/runs/search")
def search() -> Response:
    """To the run that is meant by an id, else to the runs that fit."""
    words = request.args.get("q", "").strip()
    query = RunQuery.of(request.args)
    try:
        with database().transaction() as conn:
            target = url_for("run.show", run_id=find_run(conn, words))
    except (NotFound, InvalidInput):
        target = query.searched(words).url()
    return redirect(target, 303)  # type: ignore[return-value]


def _filters(query: RunQuery, now: datetime) -> RunFilters:
    return query.filters(scope(query.app or None), now)


def _rows(query: RunQuery, now: datetime) -> RunRows:
    after, before = request.args.get("after"), request.args.get("before")
    with database().transaction() as conn:
        return list_run_rows(conn, _filters(query, now), after=after, before=before, limit=_PAGE)


def _apps() -> list[str]:
    """The apps to choose from; none when only one is open."""
    if scope() is not None:
        return []
    with database().transaction() as conn:
        names = [app["name"] for app in list_apps(conn)]
    return names if len(names) > 1 else []
