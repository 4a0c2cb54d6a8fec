"""`orchestrator workflows`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.listing import show_page
from orchestrator.cli.options import common, paged
from orchestrator.cli.output import console, print_json, print_lines, width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import ago, clean, json_line, one_line, parsed
from orchestrator.config import Config
from orchestrator.store.reads import get_workflow, list_workflows

_FACT_WIDTH = 12
_COLUMNS = (
    name_column("WORKFLOW"),
    Column("REVISION"),
    Column("OWNER", stretches=True, gives_way=2),
    Column("PACK", stretches=True, gives_way=2),
    Column("CHANGED", gives_way=3),
    Column("", stretches=True, gives_way=1),
)


@click.command()
@click.argument("name", required=False)
@click.option("--app", metavar="NAME", help="Those this app sees: its own and its group's.")
@paged
@common
def workflows(name: str | None, app: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List workflows by name, or show one.

    One is shown as the app sees it (default: ORCHESTRATOR_APP), with its document.
    """
    if name is not None:
        _show(name, app or Config.from_env(need=()).app, as_json)
        return
    with open_database() as db, db.transaction() as conn:
        page = list_workflows(conn, after, limit, app=app)
    remark = None if page.items or after else "nothing is registered yet: orchestrator register FILE"
    show_page(page, as_json, lambda screen: workflows_table(page.items, width_of(screen), datetime.now(UTC)), remark)


def _show(name: str, app: str, as_json: bool) -> None:
    with open_database() as db, db.transaction() as conn:
        found = get_workflow(conn, name, app=app)
    if as_json:
        print_json(found)
    else:
        print_lines(console(), [Text(clean(found["name"]), "bold"), *_facts(found)])


def _facts(found: Mapping[str, Any]) -> Iterator[Text]:
    """What is known of it; of a function where it is, of a document how many steps it has."""
    changed, document = parsed(found["changed_at"]), found["document"]
    version = f", version {found['version']}" if found["version"] else ""
    since = f", changed {ago(changed, datetime.now(UTC))}" if changed else ""
    facts = {
        "about": found["description"] or found["label"],
        "revision": f"{found['revision']}{version}{since}",
        "owner": f"{found['owner']['kind']} {found['owner']['name']}",
        "pack": found["pack"],
        "tags": ", ".join(found["tags"]),
        "function": found["code"],
        "steps": None if found["code"] else f"{len(document['steps']):,}",
        "input": json_line(document["input_schema"]) if document.get("input_schema") is not None else None,
    }
    for key, value in facts.items():
        if value:
            yield Text.assemble((f"  {key}".ljust(_FACT_WIDTH), "dim"), one_line(value))


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
        Text(one_line(item["label"] or item["description"] or item["code"] or "")),
    )
