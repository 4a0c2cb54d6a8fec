"""`orchestrator functions`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.options import common
from orchestrator.cli.output import console, note, print_json, print_lines, width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import ago, clean, one_line, parsed
from orchestrator.config import Config
from orchestrator.functions import BUILT_IN, Registry, load_modules
from orchestrator.store.reads import list_functions
from orchestrator.up.launch import OwnPackages

_COLUMNS = (
    name_column("FUNCTION"),
    Column("QUEUE", gives_way=2),
    Column("MODULE", stretches=True, gives_way=1),
    Column("SEEN", gives_way=3),
    Column("", stretches=True),
)


@click.command()
@click.option("--local", is_flag=True, help="Those a worker started in this folder would have; needs no database.")
@common
def functions(local: bool, as_json: bool) -> None:
    """List the functions steps may call.

    They are those that workers have announced.
    """
    items, workflows = _local() if local else (_announced(), [])
    if as_json:
        print_json({"items": items} | ({"workflows": workflows} if local else {}))
        return
    screen = console()
    print_lines(screen, functions_table(items, width_of(screen), datetime.now(UTC)))
    if not items:
        note("no function is known" + ("" if local else ": no worker has announced any"))
    for workflow in workflows:
        note(f"code-first workflow: {clean(workflow['name'])} ({clean(workflow['module'])})")


def _announced() -> list[dict[str, Any]]:
    with open_database() as db, db.transaction() as conn:
        return list_functions(conn)


def _local() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The functions, and the code-first workflows."""
    names = ("name", "module", "queue", "description", "input_schema")
    registry = _as_a_worker_has_them(Config.from_env(need=()).functions)
    found = [{name: getattr(spec, name) for name in names} | {"seen_at": None} for spec in registry]
    return found, [{"name": one.name, "module": one.module} for one in registry.workflows]


def _as_a_worker_has_them(modules: Sequence[str]) -> Registry:
    """Found as a worker started in this folder finds them. What they print at import is no output of ours."""
    sys.meta_path.insert(0, OwnPackages("orchestrator", "workers"))
    sys.path.insert(0, str(Path.cwd()))
    with redirect_stdout(sys.stderr):
        return load_modules((BUILT_IN, *modules))


def functions_table(items: Sequence[Mapping[str, Any]], width: int | None, now: datetime) -> list[Text]:
    """One line a function."""
    return table(_COLUMNS, [_row(item, now) for item in items], width)


def _row(item: Mapping[str, Any], now: datetime) -> tuple[Text, ...]:
    seen = parsed(item["seen_at"])
    return (
        Text(clean(item["name"])),
        Text(clean(item["queue"] or "")),
        Text(_module(item["module"]), "dim"),
        Text(ago(seen, now) if seen else ""),
        Text(one_line(item["description"] or "")),
    )


def _module(name: str) -> str:
    return "comes with every worker" if name.startswith(f"{BUILT_IN}.") else clean(name)
