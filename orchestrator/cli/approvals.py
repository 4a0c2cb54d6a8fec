"""`orchestrator approvals`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.listing import show_page
from orchestrator.cli.options import common, paged
from orchestrator.cli.output import width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, local, one_line, parsed
from orchestrator.store.reads import list_approvals

_COLUMNS = (
    Column("RUN"),
    name_column("STEP"),
    Column("ITEM"),
    Column("ASKED", stretches=True),
    Column("OF", stretches=True, gives_way=3),
    Column("SINCE", gives_way=2),
    Column("UNTIL", gives_way=1),
)
_HOW = "orchestrator approve RUN STEP (--item N where there is one)"


@click.command()
@click.option("--app", metavar="NAME", help="Of this app's runs only.")
@paged
@common
def approvals(app: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List approvals that wait for people, oldest first."""
    with open_database() as db, db.transaction() as conn:
        page = list_approvals(conn, app, after, limit)
    remark = _HOW if page.items else "nothing waits for a decision"
    show_page(
        page, as_json, lambda screen: table(_COLUMNS, [_row(item) for item in page.items], width_of(screen)), remark
    )


def _row(item: Mapping[str, Any]) -> tuple[Text, ...]:
    since, until = parsed(item["since"]), parsed(item["until"])
    return (
        Text(item["run_id"]),
        Text(clean(item["step"])),
        Text("" if item["item"] is None else str(item["item"])),
        Text(one_line(clean(item["title"]))),
        Text(clean(", ".join(item["assignees"]))),
        Text(local(since) if since else "", "dim"),
        Text(local(until) if until else "", "dim"),
    )
