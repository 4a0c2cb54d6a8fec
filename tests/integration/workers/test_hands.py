"""Short steps that a process holds several of at a time, when things go wrong in the middle."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.integration.workers.fleet import Fleet
from tests.support import wait_for

WIDTH = 40


def short(fleet: Fleet, name: str, *sources: str, **given: Any) -> dict[str, Any]:
    made = {"name": name, "function": "t.mostly_short", "input": {"journal": fleet.journal, **given}}
    return made | ({"depends_on": list(sources)} if sources else {})


def chain(fleet: Fleet, prefix: str, length: int) -> list[dict[str, Any]]:
    return [short(fleet, f"{prefix}{i}", *([f"{prefix}{i - 1}"] if i else [])) for i in range(length)]


def known_as_short(fleet: Fleet) -> None:
    """Let every process of the worker see the function often enough."""
    runs = [fleet.start(chain(fleet, "warm", 80)) for _ in range(4)]
    for run_id in runs:
        assert fleet.ended(run_id)["status"] == "succeeded"


def fan(fleet: Fleet) -> list[dict[str, Any]]:
    """A source, and many short steps behind it, of which the first to be taken hangs until the flag."""
    hangs = short(fleet, "hangs", "source", file=fleet.flag("go")) | {"priority": 9}
    return [short(fleet, "source"), hangs, *(short(fleet, f"leaf{i}", "source") for i in range(WIDTH))]


def leaves_ended(fleet: Fleet) -> bool:
    return sum(event["step"].startswith("leaf") for event in fleet.events("end")) >= WIDTH


def attempts(fleet: Fleet, run_id: str) -> list[str]:
    """Outcomes of the leaves' attempts."""
    rows = fleet.rows(
        "SELECT a.outcome FROM workflow_step_attempts a JOIN workflow_run_steps s ON s.id = a.step_id"
        " WHERE s.run_id = :id AND s.name LIKE 'leaf%'",
        id=run_id,
    )
    return [row.outcome for row in rows]


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_what_waits_behind_a_call_that_turns_out_slow_goes_to_others(fleet: Fleet, pool: str) -> None:
    """Long before the lease ends, and with no coordinator."""
    fleet.worker(pool=pool, concurrency=2, LEASE_SECONDS="60")
    known_as_short(fleet)
    run_id = fleet.start(fan(fleet))
    fleet.wait_event("start", "hangs")
    wait_for(lambda: leaves_ended(fleet), what="all leaves have ended beside the one that hangs")
    assert fleet.events("end", "hangs") == []
    fleet.raise_flag("go")
    assert fleet.ended(run_id)["status"] == "succeeded"
    assert attempts(fleet, run_id) == ["succeeded"] * WIDTH


def test_a_process_that_dies_loses_only_what_it_had_begun(fleet: Fleet) -> None:
    """With a lease of a minute and no beat, only the Keeper can have seen it."""
    fleet.worker(concurrency=2, LEASE_SECONDS="60")
    known_as_short(fleet)
    run_id = fleet.start(fan(fleet))
    os.kill(fleet.wait_event("start", "hangs")["pid"], signal.SIGKILL)
    assert fleet.ended(run_id)["status"] == "succeeded"
    assert fleet.tried(run_id, "hangs") == ["lost", "succeeded"]
    assert attempts(fleet, run_id).count("succeeded") == WIDTH


def test_a_worker_told_to_stop_gives_back_what_it_has_not_begun(fleet: Fleet) -> None:
    fleet.beat()  # sends again what the first worker had fetched and not begun
    first = fleet.worker(concurrency=1, LEASE_SECONDS="60")
    known_as_short(fleet)
    run_id = fleet.start(fan(fleet))
    fleet.wait_event("start", "hangs")
    first.popen.terminate()
    fleet.worker(concurrency=1, LEASE_SECONDS="60")
    wait_for(lambda: leaves_ended(fleet), what="the other worker has done the leaves")
    fleet.raise_flag("go")
    assert first.popen.wait(30) == 0
    assert fleet.ended(run_id)["status"] == "succeeded"
    assert attempts(fleet, run_id) == ["succeeded"] * WIDTH
