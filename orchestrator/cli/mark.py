"""`orchestrator mark`."""

from __future__ import annotations

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import Done, act_once
from orchestrator.cli.options import common
from orchestrator.cli.start import read_input
from orchestrator.cli.text import clean, plural
from orchestrator.domain.states import StepStatus
from orchestrator.services import mark as verb
from orchestrator.services.engine import Engine


@click.command()
@click.argument("run")
@click.argument("step")
@click.argument("status", type=click.Choice(["succeeded", "skipped"]))
@click.option("--output", "given", metavar="JSON|@FILE|-", help="What the step gave, for those that read it.")
@click.option("--force", is_flag=True, help="Also a step that is running: it is cut off.")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log and everyone who looks.")
@common
def mark(run: str, step: str, status: str, given: str | None, force: bool, reason: str | None, as_json: bool) -> None:
    """Say how a step ended, instead of what it did.

    A failed or canceled run goes on with it: what did not run because of the step is decided again, other failed steps
    stay as they are.
    """
    output = read_input(given, "--output")

    def act(engine: Engine, run_id: str) -> Done:
        opened = verb.mark(
            engine, run_id, step, StepStatus(status), output=output, force=force, reason=reason, actor=actor()
        )
        return Done(f"'{clean(step)}' is {status}: {plural(opened, 'other step')} opened again", {"step": step})

    act_once(run, act, as_json)
