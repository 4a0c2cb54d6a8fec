"""`orchestrator retry`."""

from __future__ import annotations

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import Done, Target, act_on, on_runs
from orchestrator.cli.options import common
from orchestrator.cli.text import plural
from orchestrator.services import retry as verb
from orchestrator.services.bulk import Verb
from orchestrator.services.engine import Engine


@click.command()
@on_runs
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def retry(target: Target, reason: str | None, as_json: bool) -> None:
    """Let failed or canceled runs go on.

    Failed and canceled steps, and what depended on them, run again; what succeeded does not.
    """

    def act(engine: Engine, run_id: str, bulk_id: str | None) -> Done:
        opened = verb.retry(engine, run_id, reason=reason, actor=actor(), bulk_id=bulk_id)
        return Done(f"goes on: {plural(opened, 'step')} opened again")

    act_on(Verb.RETRY, target, act, as_json)
