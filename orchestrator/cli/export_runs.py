"""`orchestrator runs export`."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.filters import filtered
from orchestrator.cli.options import common
from orchestrator.cli.output import note, print_json
from orchestrator.cli.preview import agreed_to
from orchestrator.cli.session import find
from orchestrator.cli.text import clean, plural
from orchestrator.errors import OrchestratorError
from orchestrator.services.engine import Engine
from orchestrator.services.export import Exported, export, find_roots
from orchestrator.services.lines import text_of
from orchestrator.services.remove_exported import remove_exported
from orchestrator.store.reads import RunFilters

_STDOUT = "-"


@click.command("export")
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@filtered
@click.option("--all", "everything", is_flag=True, help="All runs, without a filter.")
@click.option("--to", "target", default=_STDOUT, metavar="FILE", help="Into this file; one called .gz is compressed.")
@click.option("--then-delete", is_flag=True, help="Only ended runs, and remove them once they are in the file.")
@click.option("--yes", is_flag=True, help="With --then-delete: without asking.")
@common
def export_runs(
    runs: Sequence[str],
    filters: RunFilters,
    everything: bool,
    target: str,
    then_delete: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Write runs down as lines of JSON, with all that is theirs.

    Each with the runs above and below it, its steps, items, attempts, journal, signals, logs and history, and the
    revision it is of; without secrets. `orchestrator runs import` reads it.
    """
    _check(runs, filters != RunFilters(), everything, target, then_delete, as_json)
    if then_delete and not agreed_to("Remove the runs once they are in the file?", yes, ask=not as_json):
        return
    done, gone = Exported(), None
    with open_engine(need=("database",)) as engine:
        roots = _named(engine, runs) if runs else find_roots(engine.db, filters)
        with _opened(target) as file:
            for line in export(engine.db, roots, done, ended=then_delete, blobs=engine.blobs):
                file.write(text_of(line))
        if then_delete:
            gone = remove_exported(engine, done, file=target, actor=actor())
    _tell(done, gone, target, as_json)


def _check(runs: Sequence[str], filters: bool, everything: bool, target: str, then_delete: bool, as_json: bool) -> None:
    if sum((bool(runs), filters, everything)) != 1:
        raise click.UsageError("Give RUN..., or filters that find runs, or --all.")
    if target == _STDOUT and (then_delete or as_json):
        raise click.UsageError("--then-delete and --json go with --to FILE.")


def _named(engine: Engine, runs: Sequence[str]) -> list[str]:
    ids = [find(engine.db, run) for run in runs]
    return list(find_roots(engine.db, RunFilters(ids=ids)))


@contextmanager
def _opened(target: str) -> Iterator[IO[bytes]]:
    """The file is there once it is whole, and on disk; until then it is called FILE.part."""
    if target == _STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path, part = Path(target), Path(f"{target}.part")
    try:
        with part.open("wb") as raw:
            with _compressed(raw, path) as file:
                yield file
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(path)
    except OSError as error:
        raise OrchestratorError(f"cannot write {clean(str(part))}: {error.strerror or error}") from error


@contextmanager
def _compressed(raw: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    if path.suffix != ".gz":
        yield raw
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
        yield file  # type: ignore[misc]


def _tell(done: Exported, gone: int | None, target: str, as_json: bool) -> None:
    told: dict[str, Any] = {"file": target, "count": done.trees, "runs": done.runs, "deleted": gone}
    if as_json:
        print_json(told)
        return
    where = "" if target == _STDOUT else f" to {clean(target)}"
    below = f" ({plural(done.runs, 'run')} with those below them)" if done.runs > done.trees else ""
    note(f"{plural(done.trees, 'run')} exported{where}{below}")
    if gone is not None:
        kept = done.trees - gone
        note(f"{plural(gone, 'run')} removed" + (f"; {kept} changed meanwhile and stay" if kept else ""))
