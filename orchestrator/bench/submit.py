"""Start runs and wait for their ends, as a user of the Python client does."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.client import Orchestrator
from orchestrator.domain.states import RunStatus
from orchestrator.errors import OrchestratorError
from orchestrator.services.wait import wait_many
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
    """Wait until all have succeeded, as `Orchestrator.wait_many` does, but looking more often than once a second.

    Raises `TimeoutError` after `seconds`, and `OrchestratorError` when one has ended otherwise.
    """
    for run_id, status in wait_many(db, run_ids, seconds, seldom=_POLL_SECONDS).items():
        if status is not RunStatus.SUCCEEDED:
            raise OrchestratorError(f"run {run_id} has {status}")
