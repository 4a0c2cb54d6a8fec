"""`orchestrator cancel`."""

from __future__ import annotations

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import Done, Target, act_on, on_runs
from orchestrator.cli.options import common
from orchestrator.services import cancel as verb
from orchestrator.services.bulk import Verb
from orchestrator.services.engine import Engine
from orchestrator.services.wait import read_status


@click.command()
@on_runs
@click.option("--force", is_flag=True, help="Cut off running steps now; without it they come to their end.")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log and everyone who looks.")
@common
def cancel(target: Target, force: bool, reason: str | None, as_json: bool) -> None:
    """Cancel runs."""

    def act(engine: Engine, run_id: str, bulk_id: str | None) -> Done:
        verb.cancel(engine, run_id, reason=reason, force=force, actor=actor(), bulk_id=bulk_id)
        over = read_status(engine.db, run_id).terminal
        return Done("is canceled" if over else "is canceling: running steps end first")

    act_on(Verb.CANCEL, target, act, as_json)
