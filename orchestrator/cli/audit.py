"""`orchestrator audit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.listing import show_page
from orchestrator.cli.options import common, paged
from orchestrator.cli.output import width_of
from orchestrator.cli.session import find, open_database
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, json_line, local, one_line, parsed
from orchestrator.ids import is_id
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
@click.option("--bulk", metavar="ID", help="What this bulk did, a run a line.")
@paged
@common
def audit(run: str | None, bulk: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List what people did, newest first."""
    if bulk is not None and not is_id(bulk):
        raise click.UsageError(f"'{clean(bulk)}' is not the id of a bulk.")
    with open_database() as db:
        target = find(db, run) if run is not None else None
        with db.transaction() as conn:
            page = list_audit(conn, target, after, limit, bulk_id=bulk)
    remark = None if page.items else f"nobody did anything{_where(run, bulk, after)}"
    show_page(page, as_json, lambda screen: audit_table(page.items, width_of(screen)), remark)


def _where(run: str | None, bulk: str | None, after: str | None) -> str:
    if run is not None:
        return " to this run"
    return " in this bulk" if bulk is not None else " before that" if after else " yet"


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
        Text(_more(item), "dim"),
    )


def _more(item: Mapping[str, Any]) -> str:
    data = json_line(item["data"]) if item["data"] else ""
    return f"{data} in bulk {item['bulk_id']}".strip() if item["bulk_id"] else data
