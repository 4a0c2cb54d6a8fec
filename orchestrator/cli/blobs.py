"""`orchestrator blobs`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click

from orchestrator.blobstore import blobs_of
from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.options import common
from orchestrator.cli.output import print_json
from orchestrator.cli.session import open_database
from orchestrator.cli.text import clean, plural
from orchestrator.config import BLOB_URL, Config
from orchestrator.domain.blobs import in_units
from orchestrator.errors import InvalidConfig, Problem
from orchestrator.services.blobs import Blobs
from orchestrator.services.clean_blobs import Missing, Orphan, find_missing, find_orphans, remove_orphans
from orchestrator.store.db import Database

_HOURS = click.FloatRange(0.0, 24 * 365.0)


@click.group()
def blobs() -> None:
    """Look at the blob store, and remove what nothing refers to."""


@blobs.command()
@common
def check(as_json: bool) -> None:
    """Say whether all that runs have put away is there.

    Exit code 1 when something is missing in the blob store.
    """
    with _opened() as (db, store):
        missing = list(find_missing(db, store))
    if as_json:
        print_json({"missing": [asdict(one) for one in missing]})
    else:
        for one in missing:
            click.echo(_told(one))
        click.echo(f"{plural(len(missing), 'value')} missing" if missing else "every value is there")
    if missing:
        raise Ended(Exit.RUN_FAILED)


@blobs.command(name="clean")
@click.option("--older-than", "hours", type=_HOURS, default=24.0, show_default=True, help="Written so many hours ago.")
@click.option("--dry-run", is_flag=True, help="Remove nothing, and say what would be removed.")
@common
def clean_up(hours: float, dry_run: bool, as_json: bool) -> None:
    """Remove blobs that no run refers to.

    They are of removed runs, and of attempts that were never stored.
    """
    with _opened() as (db, store):
        act = find_orphans if dry_run else remove_orphans
        count, size, paths = _sum(act(db, store, older=hours * 3600), as_json)
    if as_json:
        print_json({"removed": not dry_run, "count": count, "bytes": size, "paths": paths})
    else:
        verb = "would be removed" if dry_run else "removed"
        click.echo(f"{plural(count, 'blob')} {verb} ({in_units(size)})")


def _sum(found: Iterable[Orphan], as_json: bool) -> tuple[int, int, list[str]]:
    count, size, paths = 0, 0, list[str]()
    for orphan in found:
        count, size = count + 1, size + orphan.size
        if as_json:
            paths.append(orphan.path)
    return count, size, paths


def _told(missing: Missing) -> str:
    step = "" if missing.step is None else f", step '{clean(missing.step)}'"
    item = "" if missing.item is None else f", item {missing.item}"
    return f"run {missing.run_id}{step}{item}: its {missing.what}, blob {clean(missing.path)}"


@contextmanager
def _opened() -> Iterator[tuple[Database, Blobs]]:
    store = blobs_of(Config.from_env(need=("database",)))
    if not store:
        raise InvalidConfig([Problem(BLOB_URL, "is not set", "there is no blob store without it")])
    with open_database() as db:
        yield db, store
