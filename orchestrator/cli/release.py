"""`orchestrator release`."""

from __future__ import annotations

import click

from orchestrator.cli.acting import actor
from orchestrator.cli.acts import Done, act_once
from orchestrator.cli.options import common
from orchestrator.cli.text import clean
from orchestrator.services import hold as verb
from orchestrator.services.engine import Engine


@click.command()
@click.argument("run")
@click.argument("step")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def release(run: str, step: str, reason: str | None, as_json: bool) -> None:
    """Let a held step go on."""

    def act(engine: Engine, run_id: str) -> Done:
        verb.release(engine, run_id, step, reason=reason, actor=actor())
        return Done(f"'{clean(step)}' is no longer held", {"step": step})

    act_once(run, act, as_json)
