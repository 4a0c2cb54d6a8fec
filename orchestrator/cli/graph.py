"""`orchestrator graph`."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.options import common, limits
from orchestrator.cli.output import print_json
from orchestrator.cli.session import find, open_database, plan_of
from orchestrator.domain.draw import draw
from orchestrator.domain.graph import Plan, make_plan
from orchestrator.domain.parse import parse
from orchestrator.domain.states import StepStatus
from orchestrator.services.documents import STDIN, read_document
from orchestrator.store.reads import run_now, step_statuses

_SUFFIXES = (".yaml", ".yml", ".json")
_FORMATS = ("dot", "mermaid", "svg")


@click.command()
@click.argument("what", metavar="FILE|RUN")
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default="mermaid", show_default=True, help="The language."
)
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this file.")
@common
def graph(what: str, form: str, output: Path | None, as_json: bool) -> None:
    """Draw a workflow or a run.

    FILE is a workflow document, - standard input. RUN is an id, a beginning or end of one, or 'latest'; its steps
    are drawn in their states.
    """
    if what == STDIN or Path(what).exists() or Path(what).suffix in _SUFFIXES:
        plan, statuses = _of_file(what), None
    else:
        plan, statuses = _of_run(what)
    drawn = draw(plan, form, statuses)
    if output is not None:
        output.write_text(drawn, encoding="utf-8")
    if as_json:
        print_json({"workflow": plan.definition.name, "format": form, "graph": drawn})
    elif output is None:
        click.echo(drawn.rstrip("\n"))


def _of_file(path: str) -> Plan:
    return make_plan(parse(read_document(path, limits=limits())))


def _of_run(run: str) -> tuple[Plan, dict[str, StepStatus]]:
    with open_database() as db:
        run_id = find(db, run)
        with db.transaction() as conn:
            now, statuses = run_now(conn, run_id), step_statuses(conn, run_id)
        plan = plan_of(db, now)
    return plan, {plan.at(position).name: status for position, status in statuses.items()}
