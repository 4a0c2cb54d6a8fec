"""`orchestrator workflows`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.listing import show_page
from orchestrator.cli.options import common, paged
from orchestrator.cli.output import width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import ago, clean, one_line, parsed
from orchestrator.store.reads import list_workflows

_COLUMNS = (
    name_column("WORKFLOW"),
    Column("REVISION"),
    Column("OWNER", stretches=True, gives_way=2),
    Column("PACK", stretches=True, gives_way=2),
    Column("CHANGED", gives_way=3),
    Column("", stretches=True, gives_way=1),
)


@click.command()
@click.option("--app", metavar="NAME", help="Those this app sees: its own and its group's.")
@paged
@common
def workflows(app: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List workflows by name."""
    with open_database() as db, db.transaction() as conn:
        page = list_workflows(conn, after, limit, app=app)
    remark = None if page.items or after else "nothing is registered yet: orchestrator register FILE"
    show_page(page, as_json, lambda screen: workflows_table(page.items, width_of(screen), datetime.now(UTC)), remark)


def workflows_table(items: Sequence[Mapping[str, Any]], width: int | None, now: datetime) -> list[Text]:
    """One line a workflow."""
    return table(_COLUMNS, [_row(item, now) for item in items], width)


def _row(item: Mapping[str, Any], now: datetime) -> tuple[Text, ...]:
    changed, owner = parsed(item["changed_at"]), item["owner"]
    return (
        Text(clean(item["name"])),
        Text(str(item["revision"])),
        Text(f"{owner['kind']} {clean(owner['name'])}", "dim"),
        Text(clean(item["pack"] or ""), "dim"),
        Text(ago(changed, now) if changed else ""),
        Text(one_line(item["label"] or item["description"] or "")),
    )
