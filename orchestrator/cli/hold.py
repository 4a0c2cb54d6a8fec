"""`orchestrator hold`."""

from __future__ import annotations

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import Done, act_once
from orchestrator.cli.options import common
from orchestrator.cli.text import clean
from orchestrator.domain.states import StepStatus
from orchestrator.services import hold as verb
from orchestrator.services.engine import Engine


@click.command()
@click.argument("run")
@click.argument("step")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log and everyone who looks.")
@common
def hold(run: str, step: str, reason: str | None, as_json: bool) -> None:
    """Keep one step of a run from starting.

    One that is running goes on, but is not tried again.
    """

    def act(engine: Engine, run_id: str) -> Done:
        status = verb.hold(engine, run_id, step, reason=reason, actor=actor())
        running = status is StepStatus.RUNNING
        said = "is held: it runs on to the end of this attempt" if running else "is held: it does not start"
        return Done(f"'{clean(step)}' {said}", {"step": step})

    act_once(run, act, as_json, need=("database",))
