"""Remove blobs that nothing refers to: of runs that were removed, and of attempts that were never settled."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import Any

from orchestrator.domain.blobs import references, run_of
from orchestrator.errors import BlobsAway
from orchestrator.services.blobs import Blobs
from orchestrator.services.engine import Rounds
from orchestrator.store import blob_references
from orchestrator.store.db import Database

log = logging.getLogger(__name__)
DAY = 86_400.0
_RUNS = 200
_PART = "-part"  # of a file that was being written


@dataclass(frozen=True, slots=True)
class Orphan:
    """A blob nothing refers to; `size` in bytes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Missing:
    """A value whose blob is not there, or has another size."""

    run_id: str
    step: str | None
    item: int | None
    what: str
    path: str


def remove_paths(blobs: Blobs, paths: Collection[str]) -> None:
    """Remove these blobs, to which nothing refers any more. Of a store that is away they are left to a clean-up."""
    if blobs.store is None or not paths:
        return
    try:
        blobs.store.remove(paths)
        _tidy(blobs, paths)
    except BlobsAway as error:
        log.warning("%d blobs of removed runs are left to `orchestrator blobs clean`: %s", len(paths), error)


def find_orphans(db: Database, blobs: Blobs, *, older: float = DAY) -> Iterator[Orphan]:
    """Blobs that nothing refers to and that were written more than `older` seconds ago.

    What is younger may belong to an attempt that is about to be settled. Reads the list of all blobs, and what is
    stored of their runs, some runs at a time. Raises `BlobsAway` and `Unreachable`.
    """
    if blobs.store is None:
        return
    before = datetime.fromtimestamp(time.time() - older, UTC)
    runs = groupby(sorted(blobs.store.find(), key=lambda stored: str(stored.path)), lambda stored: _folder(stored.path))
    while some := [(folder, list(found)) for folder, found in islice(runs, _RUNS)]:
        with db.transaction() as conn:
            used = blob_references.load_paths(conn, [folder.rpartition("/")[2] for folder, _ in some if folder])
        for folder, found in some:
            yield from (Orphan(one.path, one.size) for one in found if folder and _is_orphan(one, used, before))


def _folder(path: str) -> str:
    """The folder of the run whose the file is; empty for a file that is not ours."""
    parts = path.split("/")
    whole = path.rpartition(".json")[0] + ".json" if path.endswith(_PART) else path
    return "/".join(parts[:2]) if run_of(whole) is not None else ""


def _is_orphan(stored: Any, used: set[str], before: datetime) -> bool:
    return stored.path not in used and stored.at is not None and stored.at < before


def remove_orphans(db: Database, blobs: Blobs, *, older: float = DAY) -> Iterator[Orphan]:
    """The same, each removed once it is given."""
    if blobs.store is None:
        return
    found = find_orphans(db, blobs, older=older)
    while some := list(islice(found, _RUNS)):
        paths = [orphan.path for orphan in some]
        blobs.store.remove(paths)
        _tidy(blobs, paths)
        yield from some


def _tidy(blobs: Blobs, paths: Iterable[str]) -> None:
    """Folders that are empty now."""
    if blobs.store is None:
        return
    folders = {path.rpartition("/")[0] for path in paths}
    runs = {folder.rpartition("/")[0] for folder in folders}
    for level in (folders, runs, {run.rpartition("/")[0] for run in runs}):
        for folder in sorted(level):
            blobs.store.tidy(folder)


def find_missing(db: Database, blobs: Blobs) -> Iterator[Missing]:
    """References whose blob is not there, of all runs, some at a time; its content is not read.

    Raises `BlobsAway` and `Unreachable`.
    """
    after = Rounds.first
    while True:
        with db.transaction() as conn:
            ids = blob_references.next_runs(conn, after, _RUNS)
            rows = blob_references.load_references(conn, ids) if ids else []
        for row in rows:
            for blob in references(row.value):
                if not blobs.are_there(blob):
                    yield Missing(str(row.run_id), row.step, row.item_index, row.what, blob.path)
        if len(ids) < _RUNS:
            return
        after = str(ids[-1])
