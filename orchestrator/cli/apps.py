"""`orchestrator apps`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.text import Text

from orchestrator.cli.acting import actor
from orchestrator.cli.options import common
from orchestrator.cli.output import console, note, print_json, print_lines, width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.start import read_input
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, one_line
from orchestrator.services.apps import AppView, list_apps, set_app

_COLUMNS = (name_column("APP"), Column("GROUP"), Column("CONFIG", stretches=True, gives_way=1, least=14))


@click.command()
@click.argument("name", required=False)
@click.option("--group", metavar="GROUP", help="Put the app into this group; a new one is made.")
@click.option("--no-group", "leave_group", is_flag=True, help="Take the app out of its group.")
@click.option("--config", "given", metavar="JSON|@FILE|-", help="What its templates see as `config`: a JSON object.")
@common
def apps(name: str | None, group: str | None, leave_group: bool, given: str | None, as_json: bool) -> None:
    """List apps, or change one.

    An app sees its own workflows and those of its group; its own hides its group's of the same name.
    """
    config = read_input(given)
    if config is not None and not isinstance(config, dict):
        raise click.UsageError("--config takes a JSON object.")
    changes = group is not None or leave_group or config is not None
    if name is None and changes:
        raise click.UsageError("Say which app: orchestrator apps NAME --group GROUP.")
    with open_database() as db:
        if name is not None:
            set_app(db, name, group=group, leave_group=leave_group, config=config, actor=actor())
        listed = list_apps(db)
    if as_json:
        print_json({"items": [asdict(app) for app in listed]})
        return
    screen = console()
    print_lines(screen, apps_table(listed, width_of(screen)))
    if not listed:
        note("there is no app yet: it is made with its first workflow, or by orchestrator apps NAME")


def apps_table(listed: Sequence[AppView], width: int | None) -> list[Text]:
    """One line an app."""
    return table(_COLUMNS, [_row(app) for app in listed], width) if listed else []


def _row(app: AppView) -> tuple[Text, ...]:
    config = one_line(json.dumps(app.config, ensure_ascii=False)) if app.config else ""
    return Text(clean(app.name)), Text(clean(app.group or "")), Text(config)
