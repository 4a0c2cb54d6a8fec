"""Start runs and wait for their ends, as a user of the Python client does."""

from __future__ import annotations

import time
from collections.abc import Sequence

from orchestrator.client import Orchestrator
from orchestrator.domain.states import RunStatus
from orchestrator.errors import OrchestratorError
from orchestrator.services.wait import read_statuses
from orchestrator.store.db import Database

WAIT_SECONDS = 300.0
_POLL_SECONDS = 0.005


def start_all(client: Orchestrator, workflow: str, count: int, log: str) -> list[str]:
    """Start `count` runs at once; their ids."""
    return [run.id for run in client.start_many(workflow, [{"log": log, "run": number} for number in range(count)])]


def start_each(client: Orchestrator, workflow: str, count: int, log: str) -> list[str]:
    """Start `count` runs, one after the other; their ids."""
    return [client.start(workflow, {"log": log, "run": number}).id for number in range(count)]


def wait_all(db: Database, run_ids: Sequence[str], seconds: float = WAIT_SECONDS) -> None:
    """Wait until all have succeeded, looking more often than `Orchestrator.wait_many`, which is once a second at last.

    Raises `TimeoutError` after `seconds`, and `OrchestratorError` when one has ended otherwise.
    """
    deadline = time.monotonic() + seconds
    found = read_statuses(db, run_ids)
    while open_runs := [run_id for run_id, status in found.items() if not status.terminal]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(open_runs)} runs have not ended after {seconds:g} s")
        time.sleep(_POLL_SECONDS)
        found = read_statuses(db, run_ids)
    for run_id, status in found.items():
        if status is not RunStatus.SUCCEEDED:
            raise OrchestratorError(f"run {run_id} has {status}")
