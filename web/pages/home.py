"""The first page: what this is, what is going on, and the commands to go on with."""

from __future__ import annotations

from flask import Blueprint, current_app, render_template

from orchestrator.errors import Unreachable
from orchestrator.store.db import Database
from orchestrator.store.overview import Overview, overview

home = Blueprint("home", __name__)

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
    """Says so when the database cannot be read, instead of failing."""
    numbers = _overview()
    return render_template("home.html", numbers=numbers, commands=_COMMANDS)


def _overview() -> Overview | None:
    database: Database = current_app.extensions["orchestrator.database"]
    try:
        return overview(database)
    except Unreachable as error:
        current_app.logger.warning("the first page cannot read the database: %s", error)
        return None
