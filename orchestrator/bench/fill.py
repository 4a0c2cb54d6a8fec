"""The database of W7 and W9: many rows of old runs, and steps that wait."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace

from orchestrator.bench.graphs import chain, document
from orchestrator.bench.scratch import Scratch
from orchestrator.client import Orchestrator
from orchestrator.config import Config
from orchestrator.errors import OrchestratorError
from orchestrator.store.filler import add_ended_runs, add_waiting_runs, tidy

STEPS = 4  # of each run
_BATCH = 400_000
_ROW_BYTES = 1000  # with its part of the indexes and of the WAL


def fill(scratch: Scratch, config: Config, old_rows: int, waiting_rows: int, tell: Callable[[str], None]) -> None:
    """Add step rows of ended runs and of waiting ones. Raises `OrchestratorError` where the disk is too small."""
    rows = old_rows + waiting_rows
    if shutil.disk_usage(scratch.folder).free < rows * _ROW_BYTES:
        raise OrchestratorError(
            f"{rows:,} rows need {rows * _ROW_BYTES >> 30} GiB, and the temporary folder has no such room:"
            " set TMPDIR to another, or give a smaller --old-rows"
        )
    client = Orchestrator.from_env(replace(config, database_url=scratch.filled_url, broker_url=scratch.urls.broker_url))
    revision_id = client.register(document("filled", chain(STEPS))).revision_id
    for first, count in _batches(old_rows // STEPS):
        with client.engine.db.transaction() as conn:
            add_ended_runs(conn, revision_id, runs=count, steps=STEPS, first=first)
        tell(f"old rows: {(first + count) * STEPS:,} of {old_rows:,}")
    for _, count in _batches(waiting_rows // STEPS):
        with client.engine.db.transaction() as conn:
            add_waiting_runs(conn, revision_id, runs=count, steps=STEPS)
    client.close()
    tidy(scratch.filled_url)


def _batches(runs: int) -> Iterator[tuple[int, int]]:
    """First run and number of runs of each transaction."""
    size = _BATCH // STEPS
    return ((first, min(size, runs - first)) for first in range(0, runs, size))
