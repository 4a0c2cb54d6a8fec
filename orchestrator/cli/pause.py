"""`orchestrator pause`."""

from __future__ import annotations

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import Done, Target, act_on, on_runs
from orchestrator.cli.options import common
from orchestrator.services import pause as verb
from orchestrator.services.bulk import Verb
from orchestrator.services.engine import Engine


@click.command()
@on_runs
@click.option("--reason", metavar="TEXT", help="Why, for the audit log and everyone who looks.")
@common
def pause(target: Target, reason: str | None, as_json: bool) -> None:
    """Pause runs: nothing new of them starts."""

    def act(engine: Engine, run_id: str, bulk_id: str | None) -> Done:
        verb.pause(engine, run_id, reason=reason, actor=actor(), bulk_id=bulk_id)
        return Done("is paused: running steps go on to their end")

    act_on(Verb.PAUSE, target, act, as_json, need=("database",))
