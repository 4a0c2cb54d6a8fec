"""`orchestrator bench`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from orchestrator.bench.join import join
from orchestrator.bench.page import as_json as as_text
from orchestrator.bench.page import write_page
from orchestrator.bench.run import Wanted, run_bench
from orchestrator.bench.sheets import Sheet, sheets
from orchestrator.bench.suite import Suite
from orchestrator.bench.workloads import SIZES, chosen
from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.options import common
from orchestrator.cli.output import console, note, print_json, print_lines, width_of
from orchestrator.cli.table import Column, table
from orchestrator.config import Config
from orchestrator.errors import InvalidConfig, Problem

_FILE = click.Path(path_type=Path, dir_okay=False)
_SUITE = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command()
@click.option("--workloads", default=",".join(SIZES), show_default=True, help="Which to measure.")
@click.option("--sizes", multiple=True, help="Sizes that differ, as in W1=200x50,W2=5000; several sets one by one.")
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True, help="How often to measure each.")
@click.option("--slots", default="4", show_default=True, help="Slots of the worker; several as in 4,2.")
@click.option("--old-rows", type=click.IntRange(min=0), default=10_000_000, show_default=True, help="Rows beside W7.")
@click.option("--waiting-rows", type=click.IntRange(min=0), default=100_000, show_default=True, help="Steps that wait.")
@click.option(
    "--patience", type=click.FloatRange(min=0), default=25, show_default=True, help="Seconds to wait for others."
)
@click.option("--peers", type=_SUITE, help="Folder of a suite that runs W1 to W4 on other engines.")
@click.option("--peer-names", default="", help="Which of its engines (default: those the suite chooses).")
@click.option("--out", type=_FILE, default="results.json", show_default=True, help="Where to write what was measured.")
@click.option(
    "--from", "sources", type=_FILE, multiple=True, help="Measure nothing; show and write what these files hold."
)
@click.option("--write", type=_FILE, help="Write this page, docs/performance.md, with pictures and data.")
@common
def bench(
    workloads: str, sizes: Sequence[str], rounds: int, slots: str, old_rows: int, waiting_rows: int, patience: float,
    peers: Path | None, peer_names: str, out: Path, sources: Sequence[Path], write: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Measure the engine on this machine.

    On servers of its own in a temporary folder, which it removes. docs/performance.md tells what the workloads are.
    """
    if not sources:
        counts = _counts(slots)
        suite = None if peers is None else Suite(peers.absolute(), peer_names, rounds, counts)
        if suite is not None:
            suite.check()
        sets = chosen(workloads.split(","), sizes)
        wanted = Wanted(sets, rounds, counts, old_rows, waiting_rows, patience, suite)
        results = run_bench(wanted, Config.from_env(need=()), note, partial(keep, out))
    else:
        results = join([_read(source) for source in sources])
    _show(results, as_json)
    if write is not None:
        for path in write_page(results, write):
            note(f"wrote {path}")
    if not all(line["ok"] for line in results["lines"]):
        raise Ended(Exit.RUN_FAILED)


def keep(out: Path, results: Mapping[str, Any]) -> None:
    """Write what was measured so far; an interrupt meanwhile leaves what was written before."""
    part = out.with_name(f"{out.name}.part")
    part.write_text(as_text(results))
    part.replace(out)


def _counts(slots: str) -> list[int]:
    numbers = [part.strip() for part in slots.split(",")]
    if not all(number.isascii() and number.isdigit() and int(number) for number in numbers):
        raise InvalidConfig([Problem("--slots", f"wants numbers separated by commas, not '{slots}'")])
    return list(dict.fromkeys(map(int, numbers)))


def _read(source: Path) -> dict[str, Any]:
    try:
        results: dict[str, Any] = json.loads(source.read_text())
    except (OSError, ValueError) as error:
        raise InvalidConfig([Problem("--from", f"cannot read {source}: {error}")]) from error
    return results


def _show(results: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(results)
        return
    screen = console()
    for sheet in sheets(results).values():
        print_lines(screen, [Text(), Text(sheet.title, "bold"), *_lines(sheet, width_of(screen))])


def _lines(sheet: Sheet, width: int | None) -> list[Text]:
    columns = [Column(title, stretches=title == "statement") for title in sheet.head]
    return table(columns, [[Text(cell) for cell in row] for row in sheet.rows], width)
