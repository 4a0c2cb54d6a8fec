"""`orchestrator resume`."""

from __future__ import annotations

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import act_on
from orchestrator.cli.options import common
from orchestrator.services import pause as verb
from orchestrator.services.engine import Engine


@click.command()
@click.argument("run")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def resume(run: str, reason: str | None, as_json: bool) -> None:
    """Let a paused run go on."""

    def act(engine: Engine, run_id: str) -> str:
        verb.resume(engine, run_id, reason=reason, actor=actor())
        return "goes on"

    act_on([run], act, as_json)
