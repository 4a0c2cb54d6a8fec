"""`orchestrator resume`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import act_on
from orchestrator.cli.options import common
from orchestrator.services import pause as verb
from orchestrator.services.engine import Engine


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def resume(runs: Sequence[str], reason: str | None, as_json: bool) -> None:
    """Let paused runs go on."""

    def act(engine: Engine, run_id: str) -> str:
        verb.resume(engine, run_id, reason=reason, actor=actor())
        return "goes on"

    act_on(runs, act, as_json)
