"""`orchestrator audit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.options import common, paged
from orchestrator.cli.output import console, note, print_json, print_lines, width_of
from orchestrator.cli.session import find, open_database
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, json_line, local, one_line, parsed
from orchestrator.store.reads import list_audit

_COLUMNS = (
    Column("AT"),
    Column("WHO"),
    Column("ACT"),
    name_column("ON"),
    Column("WHY", stretches=True, gives_way=1),
    Column("", stretches=True, gives_way=2),
)


@click.command()
@click.option("--run", metavar="RUN", help="What was done to this run.")
@paged
@common
def audit(run: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List what people did, newest first."""
    with open_database() as db:
        target = find(db, run) if run is not None else None
        with db.transaction() as conn:
            page = list_audit(conn, target, after, limit)
    if as_json:
        print_json({"items": page.items, "next": page.next})
        return
    screen = console()
    print_lines(screen, audit_table(page.items, width_of(screen)))
    if not page.items:
        note("nobody did anything" + (" to this run" if run is not None else " yet" if not after else " before that"))
    if page.next:
        note(f"there are more: --after {page.next}")


def audit_table(items: Sequence[Mapping[str, Any]], width: int | None) -> list[Text]:
    """One line an act."""
    return table(_COLUMNS, [_row(item) for item in items], width)


def _row(item: Mapping[str, Any]) -> tuple[Text, ...]:
    at = parsed(item["at"])
    return (
        Text(local(at) if at else "", "dim"),
        Text(clean(item["actor"])),
        Text(clean(item["action"])),
        Text(f"{item['target_kind']} {clean(item['target_id'])}"),
        Text(one_line(item["reason"] or "")),
        Text(json_line(item["data"]) if item["data"] else "", "dim"),
    )
