"""Workers and coordinators: who is alive, and what each is at; and the functions they announced."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import request

from orchestrator.store.reads import list_functions, list_workers
from orchestrator.store.reads.worker_steps import running_of
from web.application import database
from web.pages.frame import page_blueprint, render

workers = page_blueprint("workers")


@workers.get("/workers")
def index() -> str:
    """The processes; asked for by htmx, they live."""
    with database().transaction() as conn:
        found = list_workers(conn)
        running = running_of(conn, [one["id"] for one in found if one["running"]])
    shown = [one for one in found if one["status"] != "stopped"]
    stopped = [one for one in found if one["status"] == "stopped"]
    values = {"workers": shown, "stopped": stopped, "running": running, "now": datetime.now(UTC).isoformat()}
    part = request.headers.get("HX-Target") == "workers-list"
    return render("workers/list.html" if part else "workers/index.html", **values)


@workers.get("/workers/functions")
def functions() -> str:
    """What steps can call."""
    words = request.args.get("q", "").strip().casefold()
    with database().transaction() as conn:
        found = list_functions(conn)
    shown = [one for one in found if words in one["name"].casefold() or words in (one["description"] or "").casefold()]
    return render("workers/functions.html", functions=shown, total=len(found), words=request.args.get("q", ""))
