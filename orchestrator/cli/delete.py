"""`orchestrator runs delete`."""

from __future__ import annotations

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import Done, Target, act_on, on_runs
from orchestrator.cli.options import common
from orchestrator.cli.text import plural
from orchestrator.services import delete as verb
from orchestrator.services.bulk import Verb
from orchestrator.services.engine import Engine


@click.command("delete")
@on_runs
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def delete_runs(target: Target, reason: str | None, as_json: bool) -> None:
    """Remove runs that have ended.

    With their steps, logs and history, and the runs below them. The audit log stays.
    """

    def act(engine: Engine, run_id: str, bulk_id: str | None) -> Done:
        gone = verb.delete(engine, run_id, reason=reason, actor=actor(), bulk_id=bulk_id)
        return Done("is removed" + (f" with {plural(gone - 1, 'run')} below it" if gone > 1 else ""))

    act_on(Verb.DELETE, target, act, as_json, need=("database",))
