"""`orchestrator unregister`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.options import common, owned
from orchestrator.cli.output import print_json
from orchestrator.cli.text import clean
from orchestrator.services.unregister import unregister as unregister_workflow


@click.command()
@click.argument("workflows", nargs=-1, required=True, metavar="WORKFLOW...")
@owned
@click.option("--force", is_flag=True, help="Also with active runs, which go on, and of a pack.")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def unregister(
    workflows: Sequence[str], app: str | None, group: str | None, force: bool, reason: str | None, as_json: bool
) -> None:
    """Delete workflows.

    Their runs keep the revision they follow. One that is registered again goes on with the next revision.
    """
    with open_engine(need=("database",)) as engine:
        done = [
            unregister_workflow(engine, name, app=app, group=group, force=force, reason=reason, actor=actor())
            for name in workflows
        ]
    if as_json:
        print_json({"items": [{"workflow": name} for name in done]})
        return
    for name in done:
        click.echo(f"{clean(name)} deleted")
