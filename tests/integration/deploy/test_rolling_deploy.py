"""New workers take the place of old ones while runs go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.workers.fleet import Fleet, Process
from tests.integration.workers.forks import Forks
from tests.support import wait_for

_RELEASED = "tests.integration.workers.steps,tests.integration.deploy.released"


@pytest.fixture
def fleet(database_url: str, broker_url: str, tmp_path: Path, forks: Forks) -> Iterator[Fleet]:
    made = Fleet(database_url, broker_url, tmp_path, forks)
    made.environment["ORCHESTRATOR_LEASE_SECONDS"] = "60"  # nobody dies here, however long the machine stands still
    yield made
    made.end()


def test_workers_are_replaced_one_by_one_while_runs_go_on(fleet: Fleet) -> None:
    """Nothing is lost nor done twice; the last old worker ends with its long step; what only new ones know runs."""
    old = [fleet.worker(), fleet.worker()]
    fleet.beat()
    long = fleet.start([{"name": "long", "function": "t.wait", "input": _given(fleet, file=fleet.flag("long"))}])
    fleet.wait_event("start", "long")
    with _Stream(fleet) as stream:
        for worker in old:
            _replace(fleet, worker)
            stream.more(4)
        wait_for(lambda: sum(worker.popen.poll() is None for worker in old) == 1, 60, what="one has ended")
        stream.more(4)
    fleet.raise_flag("long")
    assert fleet.ended(long)["status"] == "succeeded"
    assert {fleet.ended(run_id)["status"] for run_id in stream.started} == {"succeeded"}
    assert [worker.popen.wait(30) for worker in old] == [0, 0]
    assert fleet.rows("SELECT FROM workflow_step_attempts WHERE outcome = 'lost'") == []
    assert len(fleet.events("start")) == len(fleet.events("end")) == 1 + 5 * len(stream.started)
    new = fleet.start([{"name": "new", "function": "t.new"}])
    assert fleet.ended(new)["output"] == {"new": "of the new release"}


def _replace(fleet: Fleet, worker: Process) -> None:
    """A worker of the new release is there, and the old one is told to end."""
    fleet.worker(FUNCTIONS=_RELEASED)
    worker.popen.terminate()


def _given(fleet: Fleet, **more: Any) -> dict[str, Any]:
    return {"journal": fleet.journal} | more


class _Stream:
    """Runs of a chain of five steps, started one after the other while it is open."""

    def __init__(self, fleet: Fleet) -> None:
        self.started: list[str] = []
        self._fleet = fleet
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._start)

    def __enter__(self) -> _Stream:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def more(self, count: int) -> None:
        """Wait until so many more have been started."""
        wanted = len(self.started) + count
        wait_for(lambda: len(self.started) >= wanted, 60, what=f"{count} more runs are started")

    def _start(self) -> None:
        given = _given(self._fleet, seconds=0.1)
        steps = [
            {"name": f"s{n}", "function": "t.span", "input": given, "depends_on": [f"s{n - 1}"] if n else []}
            for n in range(5)
        ]
        while not self._ended.wait(0.2):
            self.started.append(self._fleet.start(steps))
