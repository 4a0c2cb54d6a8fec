"""`orchestrator graph`."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.options import common, limits
from orchestrator.cli.output import print_json
from orchestrator.cli.session import find, open_database, plan_named
from orchestrator.config import Config
from orchestrator.domain.draw import FORMS, draw
from orchestrator.domain.graph import Plan, make_plan
from orchestrator.domain.parse import parse
from orchestrator.domain.states import StepStatus
from orchestrator.errors import InvalidInput, NotFound, OrchestratorError
from orchestrator.services.documents import STDIN, read_document
from orchestrator.services.done import done, named_statuses
from orchestrator.services.plans import Plans
from orchestrator.store.db import Database
from orchestrator.store.reads import run_now, step_statuses

_SUFFIXES = (".yaml", ".yml", ".json")


@click.command()
@click.argument("what", metavar="FILE|WORKFLOW|RUN")
@click.option(
    "--format", "form", type=click.Choice(list(FORMS)), default="mermaid", show_default=True, help="The language."
)
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this file.")
@click.option("--app", metavar="NAME", help="The registered workflow this app sees (default: ORCHESTRATOR_APP).")
@common
def graph(what: str, form: str, output: Path | None, app: str | None, as_json: bool) -> None:
    """Draw a workflow or a run.

    FILE is a workflow document, - standard input; WORKFLOW the name of a registered one. RUN is an id, a beginning
    or end of one, or 'latest'; its steps are drawn in their states.
    """
    plan, statuses = _read(what, app)
    drawn = draw(plan, form, statuses)
    if output is not None:
        _write(output, drawn)
    if as_json:
        print_json({"workflow": plan.definition.name, "format": form, "graph": drawn})
    elif output is None:
        click.echo(drawn.rstrip("\n"))


def _write(output: Path, drawn: str) -> None:
    try:
        output.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise OrchestratorError(f"cannot write '{output}': {error.strerror}") from error


def _read(what: str, app: str | None) -> tuple[Plan, dict[str, StepStatus] | None]:
    if what == STDIN or Path(what).is_file() or Path(what).suffix in _SUFFIXES:
        return _of_file(what), None
    with open_database() as db:
        if app is not None:
            return plan_named(db, what, app), None
        try:
            return _of_run(db, what)
        except (NotFound, InvalidInput) as no_run:
            return _of_workflow(db, what, no_run), None


def _of_workflow(db: Database, name: str, no_run: Exception) -> Plan:
    """What is no run is a workflow's name; raises `NotFound`."""
    try:
        return plan_named(db, name, Config.from_env(need=()).app)
    except NotFound as no_workflow:
        if isinstance(no_run, NotFound):
            raise no_run from None
        raise NotFound(f"there is no file or run '{name}', and {no_workflow}") from None


def _of_file(path: str) -> Plan:
    return make_plan(parse(read_document(path, limits=limits())))


def _of_run(db: Database, run: str) -> tuple[Plan, dict[str, StepStatus]]:
    """Its graph; of a function, what it has done so far."""
    run_id = find(db, run)
    with db.transaction() as conn:
        now, statuses = run_now(conn, run_id), step_statuses(conn, run_id)
        plan = Plans().get(conn, now.revision_id)
        found = done(conn, plan, run_id)
    return found.plan, named_statuses(plan, found, statuses)
