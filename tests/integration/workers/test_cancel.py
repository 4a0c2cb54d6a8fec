"""Cancelling runs whose steps are running in workers."""

from __future__ import annotations

import pytest

from orchestrator.services.cancel import cancel
from tests.integration.workers.fleet import Fleet
from tests.support import wait_for


@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_a_forced_cancel_interrupts_the_function(fleet: Fleet, pool: str) -> None:
    # Not killed while it is ended, however slowly it notes that.
    fleet.worker(pool, LEASE_SECONDS="60", TIMEOUT_GRACE_SECONDS="30")
    run_id = fleet.start(
        [{"name": "a", "function": "t.wait", "input": {"journal": fleet.journal, "file": fleet.flag("go")}}]
    )
    fleet.wait_event("start")
    cancel(fleet.engine, run_id, force=True)
    assert fleet.ended(run_id)["status"] == "canceled"
    assert fleet.wait_event("raised")["error"] == "AttemptCanceled"
    assert fleet.tried(run_id, "a") == ["canceled"]
    again = fleet.start([{"name": "a", "function": "t.add", "input": {"a": 1}}])
    assert fleet.ended(again)["output"] == {"a": 2}


def test_a_function_that_swallows_a_forced_cancel_is_killed(fleet: Fleet) -> None:
    # Half of it, then it is killed: with time to note that it was interrupted, though it stands still for a while.
    worker = fleet.worker(concurrency=1, LEASE_SECONDS="60", TIMEOUT_GRACE_SECONDS="12")
    run_id = fleet.start(
        [{"name": "a", "function": "t.swallow", "input": {"journal": fleet.journal, "file": fleet.flag("go")}}]
    )
    pid = fleet.wait_event("start")["pid"]
    cancel(fleet.engine, run_id, force=True)
    assert fleet.wait_event("swallowed")["error"] == "AttemptCanceled"
    wait_for(lambda: pid not in worker.children(), what="its process is gone")
    assert fleet.ended(run_id)["status"] == "canceled"
    assert fleet.tried(run_id, "a") == ["canceled"]


def test_on_threads_a_forced_cancel_drops_what_the_function_gives(fleet: Fleet) -> None:
    worker = fleet.worker("threads", LEASE_SECONDS="60")
    run_id = fleet.start(
        [{"name": "a", "function": "t.wait", "input": {"journal": fleet.journal, "file": fleet.flag("go")}}]
    )
    fleet.wait_event("start")
    cancel(fleet.engine, run_id, force=True)
    fleet.raise_flag("go")
    fleet.wait_event("end")
    wait_for(lambda: "its claim was lost" in worker.said())
    step = fleet.step(run_id, "a")
    assert (step["status"], step["output"]) == ("canceled", None)


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_graceful_cancel_is_seen_by_the_function_and_its_result_kept(fleet: Fleet, pool: str) -> None:
    fleet.worker(pool)
    run_id = fleet.start(
        [
            {
                "name": "a",
                "function": "t.until_canceled",
                "input": {"journal": fleet.journal, "file": fleet.flag("go")},
            },
            {"name": "b", "function": "t.add", "input": {"a": 1}, "depends_on": ["a"]},
        ]
    )
    fleet.wait_event("start")
    cancel(fleet.engine, run_id)
    assert fleet.ended(run_id)["status"] == "canceled"
    step = fleet.step(run_id, "a")
    assert (step["status"], step["output"]) == ("succeeded", "cleaned up")
    assert fleet.step(run_id, "b")["status"] == "canceled"
