"""Values that are too large for a page, to be downloaded."""

from __future__ import annotations

import json
from typing import Any

from flask import Response, abort, make_response

from orchestrator.store.reads import get_run, get_step
from orchestrator.store.reads.step_rows import step_name
from web.application import database, engine
from web.pages.frame import page_blueprint
from web.pages.open_run import open_run

values = page_blueprint("values")


@values.get("/runs/<run_id>/output.json")
def of_run(run_id: str) -> Response:
    """What a run gave, secrets masked."""
    run = open_run(run_id)
    with database().transaction() as conn:
        view = get_run(conn, run.id, engine().blobs.shown)
    return _file(view["output"], f"{run.id}-output.json")


@values.get("/runs/<run_id>/step/<int:position>/<what>.json")
def of_step(run_id: str, position: int, what: str) -> Response:
    """What a step was given or gave, secrets masked."""
    if what not in ("input", "output"):
        abort(404)
    run = open_run(run_id)
    with database().transaction() as conn:
        view = get_step(conn, run.id, step_name(conn, run.id, position), engine().blobs.shown)
    return _file(view[what], f"{run.id}-{position}-{what}.json")


def _file(value: Any, name: str) -> Response:
    answer = make_response(json.dumps(value, ensure_ascii=False))
    answer.mimetype = "application/json"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    answer.headers["Cache-Control"] = "no-store"
    return answer
