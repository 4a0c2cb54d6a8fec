"""`orchestrator runs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.filters import filtered
from orchestrator.cli.listing import show_page
from orchestrator.cli.marks import Signs
from orchestrator.cli.options import common, paged
from orchestrator.cli.output import width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.subcommands import Subcommands
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import ago, clean, one_line, parsed
from orchestrator.domain.states import STEP_TERMINAL, RunStatus
from orchestrator.domain.times import duration
from orchestrator.store.reads import RunFilters, list_runs

_COLUMNS = (
    name_column("WORKFLOW"),
    Column("STATUS"),
    Column("RUN"),
    Column("STEPS", gives_way=3),
    Column("CREATED", gives_way=2),
    Column("TOOK", gives_way=4),
    Column("APP", gives_way=5),
    Column("", stretches=True, gives_way=1),
)


@click.group(cls=Subcommands, invoke_without_command=True, subcommand_metavar="[COMMAND]")
@filtered
@paged
@common
@click.pass_context
def runs(ctx: click.Context, filters: RunFilters, limit: int, after: str | None, as_json: bool) -> None:
    """List runs, newest first; or delete, export or import some."""
    if ctx.invoked_subcommand is not None:
        if filters != RunFilters() or after or as_json:
            raise click.UsageError(f"Options of {ctx.invoked_subcommand} come after it.")
        return
    with open_database() as db, db.transaction() as conn:
        page = list_runs(conn, filters, after, limit)
    show_page(
        page,
        as_json,
        lambda screen: runs_table(page.items, Signs.of(screen), width_of(screen), datetime.now(UTC)),
        None if page.items else _nothing(filters != RunFilters() or bool(after)),
    )


def _nothing(filtered: bool) -> str:
    return "there is no such run" if filtered else "there is no run yet: orchestrator start NAME"


def runs_table(items: Sequence[Mapping[str, Any]], signs: Signs, width: int | None, now: datetime) -> list[Text]:
    """One line a run. In a narrow terminal the id is its last part, which every command takes as well."""
    short = width is not None and width < 100
    return table(_COLUMNS, [_row(item, signs, now, short) for item in items], width)


def _row(item: Mapping[str, Any], signs: Signs, now: datetime, short: bool) -> tuple[Text, ...]:
    created, started, finished = (parsed(item[name]) for name in ("created_at", "started_at", "finished_at"))
    took = duration(((finished or now) - started).total_seconds()) if started else ""
    return (
        Text(clean(item["workflow"])),
        signs.status(item["status"]),
        Text(item["id"].rsplit("-", 1)[1] if short else item["id"]),
        Text(_steps(item["counts"])),
        Text(ago(created, now) if created else ""),
        Text(took),
        Text(clean(item["app"]) if item["app"] != "default" else "", "dim"),
        _says(item),
    )


def _steps(counts: Mapping[str, int]) -> str:
    ended = sum(counts.get(status, 0) for status in STEP_TERMINAL)
    return f"{ended:,}/{sum(counts.values()):,}"


def _says(item: Mapping[str, Any]) -> Text:
    if item["paused"] and item["pause_reason"]:
        return Text(one_line(item["pause_reason"]), "yellow")
    error = item["error"]
    if not error or item["status"] == RunStatus.SUCCEEDED:
        return Text(", ".join(map(clean, item["tags"])), "dim")
    step = f"{clean(error['step'])}: " if error.get("step") else ""
    return Text(f"{step}{one_line(str(error.get('message')))}", "red")
