"""`orchestrator retry`."""

from __future__ import annotations

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import act_on
from orchestrator.cli.options import common
from orchestrator.cli.text import plural
from orchestrator.services import retry as verb
from orchestrator.services.engine import Engine


@click.command()
@click.argument("run")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def retry(run: str, reason: str | None, as_json: bool) -> None:
    """Let a failed or canceled run go on.

    Failed and canceled steps, and what depended on them, run again; what succeeded does not.
    """

    def act(engine: Engine, run_id: str) -> str:
        opened = verb.retry(engine, run_id, reason=reason, actor=actor())
        return f"goes on: {plural(opened, 'step')} opened again"

    act_on([run], act, as_json)
