"""`orchestrator cancel`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import act_on
from orchestrator.cli.options import common
from orchestrator.services import cancel as verb
from orchestrator.services.engine import Engine
from orchestrator.services.wait import read_status


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--force", is_flag=True, help="Cut off running steps now; without it they come to their end.")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log and everyone who looks.")
@common
def cancel(runs: Sequence[str], force: bool, reason: str | None, as_json: bool) -> None:
    """Cancel runs."""

    def act(engine: Engine, run_id: str) -> str:
        verb.cancel(engine, run_id, reason=reason, force=force, actor=actor())
        return "is canceled" if read_status(engine.db, run_id).terminal else "is canceling: running steps end first"

    act_on(runs, act, as_json)
