"""`orchestrator pools`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.options import common
from orchestrator.cli.output import console, note, print_json, print_lines, width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, local, one_line, parsed
from orchestrator.services import pools as verbs
from orchestrator.store.reads import get_pool, list_pools

_COLUMNS = (
    name_column("POOL"),
    Column("SLOTS"),
    Column("TAKEN"),
    Column("WAITING"),
    Column("SINCE", gives_way=2),
    Column("", stretches=True, gives_way=1),
)
_HOLDERS = (Column("RUN"), name_column("STEP"), Column("STATUS"), Column("SLOTS"), Column("SINCE"), Column("WORKER"))


@click.command()
@click.argument("name", required=False)
@click.option("--slots", type=int, metavar="N", help="Give it so many slots; with 0 nothing of the pool starts.")
@click.option("--description", metavar="TEXT", help="What it stands for; with --slots.")
@click.option("--remove", is_flag=True, help="Remove a pool that no step uses.")
@click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
@common
def pools(
    name: str | None, slots: int | None, description: str | None, remove: bool, reason: str | None, as_json: bool
) -> None:
    """List pools, show one, or change one.

    Steps that name a pool take its slots while they run, whatever their run is; the others wait.
    """
    if name is None:
        if slots is not None or remove:
            raise click.UsageError("Say which pool: orchestrator pools NAME")
        _list(as_json)
    elif remove:
        with open_engine() as engine:
            verbs.remove_pool(engine, name, reason=reason, actor=actor())
        if as_json:
            print_json({"items": []})
        else:
            click.echo(f"pool '{clean(name)}' is removed")
    else:
        if slots is not None:
            with open_engine() as engine:
                verbs.set_pool(engine, name, slots, description=description, reason=reason, actor=actor())
        _show(name, as_json)


def _list(as_json: bool) -> None:
    with open_database() as db, db.transaction() as conn:
        items = list_pools(conn)
    if as_json:
        print_json({"items": items})
        return
    screen = console()
    print_lines(screen, table(_COLUMNS, [_row(item) for item in items], width_of(screen)))
    if not items:
        note("there are no pools: orchestrator pools NAME --slots N makes one")


def _show(name: str, as_json: bool) -> None:
    """The pool and the steps that hold its slots."""
    with open_database() as db, db.transaction() as conn:
        pool = get_pool(conn, name)
    if as_json:
        print_json({"items": [pool]})
        return
    screen = console()
    lines = table(_COLUMNS, [_row(pool)], width_of(screen))
    if pool["holders"]:
        lines += [Text(), *table(_HOLDERS, [_holder(held) for held in pool["holders"]], width_of(screen))]
    print_lines(screen, lines)


def _row(item: Mapping[str, Any]) -> tuple[Text, ...]:
    oldest = parsed(item["oldest"])
    return (
        Text(clean(item["name"])),
        Text(str(item["slots"])),
        Text(str(item["taken"])),
        Text(str(item["waiting"]) if item["waiting"] < 10_000 else "10,000 or more"),
        Text(local(oldest) if oldest else "", "dim"),
        Text(one_line(clean(item["description"] or "")), "dim"),
    )


def _holder(held: Mapping[str, Any]) -> tuple[Text, ...]:
    since = parsed(held["since"])
    return (
        Text(held["run_id"]),
        Text(clean(held["step"])),
        Text(held["status"]),
        Text(str(held["slots"])),
        Text(local(since) if since else "", "dim"),
        Text(clean(held["worker"] or ""), "dim"),
    )
