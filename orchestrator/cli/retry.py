"""`orchestrator retry`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import act_on
from orchestrator.cli.options import common
from orchestrator.cli.text import plural
from orchestrator.services import retry as verb
from orchestrator.services.engine import Engine


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def retry(runs: Sequence[str], reason: str | None, as_json: bool) -> None:
    """Let failed or canceled runs go on.

    Failed and canceled steps, and what depended on them, run again; what succeeded does not.
    """

    def act(engine: Engine, run_id: str) -> str:
        opened = verb.retry(engine, run_id, reason=reason, actor=actor())
        return f"goes on: {plural(opened, 'step')} opened again"

    act_on(runs, act, as_json)
