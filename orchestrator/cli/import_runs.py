"""`orchestrator runs import`."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from orchestrator.blobstore import configured_blobs
from orchestrator.cli.acting import actor
from orchestrator.cli.options import common
from orchestrator.cli.output import note, print_json
from orchestrator.cli.session import open_database
from orchestrator.cli.text import clean, plural
from orchestrator.errors import InvalidInput, NotFound
from orchestrator.services.import_runs import MOST_BYTES, Imported
from orchestrator.services.import_runs import import_runs as bring
from orchestrator.services.lines import lines_of

_GZIP = b"\x1f\x8b"


@click.command("import")
@click.argument("file", metavar="FILE|-")
@common
def import_runs(file: str, as_json: bool) -> None:
    """Bring in runs that were exported elsewhere, to look at them.

    With their workflows as revisions; the latest ones here stay. They have the tag `imported`. Nothing of them is run:
    what was open is paused. A run that is here stays as it is.
    """
    done = Imported()
    try:
        with open_database() as db, _opened(file) as source:
            sums = bring(
                db, lines_of(source, MOST_BYTES), name=Path(file).name, actor=actor(), blobs=configured_blobs()
            )
            for so_far in sums:
                done = so_far
    except InvalidInput:
        if done.trees:
            note(f"{plural(done.trees, 'run')} imported before the line that is wrong")
        raise
    if as_json:
        print_json({
            "count": done.trees, "runs": done.runs, "known": done.known, "revisions": done.revisions,
        })  # fmt: skip
        return
    known = f", {done.known} were here" if done.known else ""
    new = f" ({plural(done.runs, 'run')} with those below them)" if done.runs > done.trees else ""
    click.echo(f"{plural(done.trees, 'run')} imported{new}{known}")
    if done.trees:
        note("orchestrator runs --tag imported")


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as raw:
            packed = raw.read(2) == _GZIP
            raw.seek(0)
            if packed:
                with gzip.open(raw) as unpacked:
                    yield unpacked  # type: ignore[misc]
            else:
                yield raw
    except OSError as error:
        raise NotFound(f"cannot read {clean(file)}: {error.strerror or error}") from error
