"""The first page: what is going on, and the commands to go on with."""

from __future__ import annotations

from orchestrator.store.overview import overview
from web.pages.frame import database, page_blueprint, render

home = page_blueprint("home")

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
    return render("home.html", numbers=overview(database()), commands=_COMMANDS)
