"""The first page: what needs a person now, and how it went lately."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from flask import request

from orchestrator.store.reads import RunFilters, list_approvals
from orchestrator.store.reads.causes import Cause, Causes, list_causes
from orchestrator.store.reads.histogram import Bucket
from orchestrator.store.reads.latency import Latency, latency_over_time
from orchestrator.store.reads.now import numbers_now
from orchestrator.store.reads.queue_rows import list_queue_rows
from orchestrator.store.reads.schedules import schedules_in_trouble
from orchestrator.store.reads.stuck import list_late, list_long_waits, list_lost
from web.application import database
from web.pages.charts import HEIGHT, STEP, count_scale, line, time_scale
from web.pages.frame import page_blueprint, render, scope
from web.pages.over_time import bars, highest, totals
from web.pages.over_time import over_time as histograms
from web.pages.run_query import RANGE_WORDS, RANGES, RunQuery

home = page_blueprint("home")

_DAY = timedelta(days=1)
_BUCKETS = 48
_SHOWN = 5
_COMMANDS = (
    ("orchestrator validate FILE", "check a workflow file"),
    ("orchestrator register FILE", "store it as a new revision"),
    ("orchestrator start NAME --input '{}' --wait", "run it and wait for its end"),
    ("orchestrator runs", "list the runs"),
    ("orchestrator watch RUN", "see a run live, step by step"),
    ("orchestrator logs RUN", "read what its steps said"),
)


@home.get("/")
def index() -> str:
    return render("home/index.html", commands=_COMMANDS, ranges=RANGE_WORDS, range=_range(), **_now())


@home.get("/home/now")
def now() -> str:
    """What needs a person, asked for again and again."""
    return render("home/now.html", **_now())


@home.get("/home/over-time")
def over_time() -> str:
    """Throughput and latency."""
    until, app = datetime.now(UTC), scope()
    since = until - RANGES[_range()]
    buckets, whole = histograms().buckets(RunFilters(app=app), since, until, until, _BUCKETS)
    with database().transaction() as conn:
        took = latency_over_time(conn, since, until, _BUCKETS, app=app)
    values = {"throughput": _throughput(buckets), "latency": _latency(took), "whole": whole, "range": _range()}
    return render("home/over_time.html", width=len(buckets) * STEP, height=HEIGHT, **values)


def _now() -> dict[str, Any]:
    app, at = scope(), datetime.now(UTC)
    with database().transaction() as conn:
        causes = list_causes(conn, at - _DAY, app=app)
        queues = list_queue_rows(conn)
        return {
            "numbers": numbers_now(conn, app=app),
            "causes": causes,
            "links": [_links(cause, at) for cause in causes.items],
            "all_failed": _all_failed(causes, at).url(),
            "queues": queues,
            "stuck": [queue for queue in queues if queue["stuck"]],
            "late": list_late(conn, app=app, limit=_SHOWN),
            "schedules": schedules_in_trouble(conn, _SHOWN, app=app),
            "lost": list_lost(conn, app=app, limit=_SHOWN),
            "waits": list_long_waits(conn, app=app),
            "approvals": list_approvals(conn, app, limit=_SHOWN).items,
            "now": at.isoformat(),
        }


def _links(cause: Cause, at: datetime) -> dict[str, str]:
    """Where the runs of a cause are listed, and where all are retried."""
    query = RunQuery(
        workflow=cause.workflow, statuses=("failed",), app=cause.app, error=cause.common, roots=True,
        range=_range_since(cause.since, at),
    )  # fmt: skip
    return {"runs": query.url(), "retry": query.url("bulk.preview", verb="retry")}


def _all_failed(causes: Causes, at: datetime) -> RunQuery:
    since = min((cause.since for cause in causes.items), default=at)
    return RunQuery(statuses=("failed",), roots=True, range=_range_since(since, at))


def _range_since(since: datetime, at: datetime) -> str:
    """The shortest range that has the moment in it, and some time more: what is shown grows older while it is read."""
    return "24h" if at - since < RANGES["24h"] - timedelta(hours=1) else "7d"


def _range() -> str:
    asked = request.args.get("range", "")
    return asked if asked in RANGES else "24h"


def _throughput(buckets: list[Bucket]) -> dict[str, Any]:
    most, scale = count_scale(highest(buckets))
    return {"bars": bars(RunQuery(), buckets, most, HEIGHT), "scale": scale, "total": totals(buckets)}


def _latency(took: Any) -> dict[str, Any]:
    ends: list[Latency] = list(took)
    top, scale = time_scale(max((one.p95 for one in ends if one.p95 is not None), default=0.0))
    lines = {"p50": line([one.p50 for one in ends], top), "p95": line([one.p95 for one in ends], top)}
    return {"ends": ends, "scale": scale, "runs": sum(one.runs for one in ends), "width": len(ends) * STEP, **lines}
