"""`orchestrator workers`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.marks import Signs
from orchestrator.cli.options import common
from orchestrator.cli.output import console, note, print_json, print_lines, width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import ago, clean, parsed
from orchestrator.store.reads import list_workers

_COLUMNS = (
    name_column("PROCESS"),
    Column("KIND"),
    Column("STATUS"),
    Column("RUNS", gives_way=4),
    Column("QUEUES", stretches=True, gives_way=3),
    Column("SEEN", gives_way=5),
    Column("UP", gives_way=2),
    Column("VERSION", gives_way=1),
)


@click.command()
@common
def workers(as_json: bool) -> None:
    """List worker and beat processes."""
    with open_database() as db, db.transaction() as conn:
        items = list_workers(conn)
    if as_json:
        print_json({"items": items})
        return
    screen = console()
    print_lines(screen, workers_table(items, Signs.of(screen), width_of(screen), datetime.now(UTC)))
    if not any(item["status"] == "alive" for item in items):
        note("no worker is alive: orchestrator worker, orchestrator beat, or orchestrator up for all at once")


def workers_table(items: Sequence[Mapping[str, Any]], signs: Signs, width: int | None, now: datetime) -> list[Text]:
    """One line a process."""
    return table(_COLUMNS, [_row(item, signs, now) for item in items], width)


def _hears(listening: bool | None) -> str:
    return "" if listening is None else "listens" if listening else "ticks only"


def _row(item: Mapping[str, Any], signs: Signs, now: datetime) -> tuple[Text, ...]:
    seen, started = parsed(item["seen_at"]), parsed(item["started_at"])
    runs = f"{item['running']} of {item['concurrency']}" if item["kind"] == "worker" else _hears(item["listening"])
    return (
        Text(f"{clean(item['host'])}:{item['pid']}"),
        Text(item["kind"]),
        signs.status(item["status"]),
        Text(runs),
        Text(clean(", ".join(item["queues"]))),
        Text(ago(seen, now) if seen else ""),
        Text(ago(started, now).removesuffix(" ago") if started and item["status"] == "alive" else ""),
        Text(clean(item["version"]), "dim"),
    )
