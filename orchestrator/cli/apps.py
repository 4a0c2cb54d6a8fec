"""`orchestrator apps`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.acting import actor
from orchestrator.cli.options import common
from orchestrator.cli.output import console, note, print_json, print_lines, width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.start import read_input
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, json_line
from orchestrator.services.apps import set_app
from orchestrator.store.reads import list_apps

_COLUMNS = (name_column("APP"), Column("GROUP"), Column("CONFIG", stretches=True, gives_way=1, least=14))


@click.command()
@click.argument("name", required=False)
@click.option("--group", metavar="GROUP", help="Put the app into this group; a new one is made.")
@click.option("--no-group", "leave_group", is_flag=True, help="Take the app out of its group.")
@click.option("--config", "given", metavar="JSON|@FILE|-", help="What its templates see as `config`: a JSON object.")
@common
def apps(name: str | None, group: str | None, leave_group: bool, given: str | None, as_json: bool) -> None:
    """List apps, show one, or change one.

    One that is changed and not there is made. An app sees its own workflows and those of its group; its own hides
    its group's of the same name.
    """
    config = read_input(given, "--config")
    if config is not None and not isinstance(config, dict):
        raise click.UsageError("--config takes a JSON object.")
    changes = group is not None or leave_group or config is not None
    if name is None and changes:
        raise click.UsageError("Say which app: orchestrator apps NAME --group GROUP.")
    with open_database() as db:
        if name is not None and changes:
            set_app(db, name, group=group, leave_group=leave_group, config=config, actor=actor())
        with db.transaction() as conn:
            listed = list_apps(conn, name)
    if as_json:
        print_json({"items": listed})
        return
    screen = console()
    print_lines(screen, apps_table(listed, width_of(screen)))
    if not listed:
        note("there is no app yet: it is made with its first workflow (orchestrator register FILE)")


def apps_table(listed: Sequence[Mapping[str, Any]], width: int | None) -> list[Text]:
    """One line an app."""
    return table(_COLUMNS, [_row(app) for app in listed], width)


def _row(app: Mapping[str, Any]) -> tuple[Text, ...]:
    config = json_line(app["config"]) if app["config"] else ""
    return Text(clean(app["name"])), Text(clean(app["group"] or "")), Text(config)
