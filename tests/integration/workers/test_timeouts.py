"""Attempts that run longer than their timeout, in every pool."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.workers.fleet import Fleet
from tests.support import wait_for

WITHIN = 4  # a timeout that runs out within the function, also where that was slow to begin


def waiting(fleet: Fleet, **more: Any) -> dict[str, Any]:
    given = {"journal": fleet.journal, "file": fleet.flag("go")}
    return {"name": "a", "function": "t.wait", "input": given, "timeout": 0.5, **more}


@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_a_function_past_its_timeout_is_ended_where_signals_reach_it(fleet: Fleet, pool: str) -> None:
    """No beat runs: the process itself ends the attempt."""
    fleet.worker(pool, TIMEOUT_GRACE_SECONDS="30")  # else one that is slow to end is killed before it has noted it
    run_id = fleet.start([waiting(fleet, timeout=WITHIN)])
    run = fleet.ended(run_id)
    assert (run["status"], run["error"]["type"]) == ("failed", "Timeout")
    assert fleet.wait_event("raised")["error"] == "AttemptTimeout"
    step = fleet.step(run_id, "a")
    assert (step["status"], step["reason"]) == ("failed", "timeout")
    assert fleet.tried(run_id, "a") == ["timed_out"]


def test_an_attempt_that_timed_out_is_tried_again_as_its_retry_says(fleet: Fleet) -> None:
    fleet.worker(TIMEOUT_GRACE_SECONDS="30")
    run_id = fleet.start([waiting(fleet, function="t.first_hangs", timeout=5, retry={"max_attempts": 2})])
    assert fleet.ended(run_id)["output"] == {"a": 2}
    assert fleet.tried(run_id, "a") == ["timed_out", "succeeded"]


@pytest.mark.parametrize("beat", [True, False], ids=["with a beat", "without"])
def test_a_function_that_swallows_its_timeout_is_killed(fleet: Fleet, beat: bool) -> None:
    if beat:
        fleet.beat(TIMEOUT_GRACE_SECONDS="10")
    # Half of the grace, until it is killed. No lease is over before.
    worker = fleet.worker(concurrency=1, TIMEOUT_GRACE_SECONDS="10", LEASE_SECONDS="60")
    before = worker.children()
    run_id = fleet.start([waiting(fleet, function="t.swallow", timeout=WITHIN)])
    assert fleet.ended(run_id)["error"]["type"] == "Timeout"
    assert fleet.tried(run_id, "a") == ["timed_out"]
    assert fleet.wait_event("swallowed")["error"] == "AttemptTimeout"
    wait_for(lambda: not set(before) & set(worker.children()), what="its process is gone")
    assert fleet.events("end") == []
    again = fleet.start([{"name": "a", "function": "t.add", "input": {"a": 1}}])
    assert fleet.ended(again)["output"] == {"a": 2}


def test_a_function_that_holds_the_interpreter_past_its_timeout_is_killed(fleet: Fleet) -> None:
    fleet.worker()
    given = {"journal": fleet.journal, "pipe": fleet.pipe("never")}
    step = waiting(fleet, function="t.hold_interpreter", input=given)
    run_id = fleet.start([step])
    assert fleet.ended(run_id)["error"]["type"] == "Timeout"
    assert fleet.tried(run_id, "a") == ["timed_out"]


@pytest.mark.parametrize("pool", ["threads", "solo"])
@pytest.mark.parametrize("function", ["t.swallow", "t.hold_interpreter"])
def test_what_cannot_be_ended_is_fenced_off_and_its_late_result_dropped(fleet: Fleet, pool: str, function: str) -> None:
    fleet.beat()
    worker = fleet.worker(pool, LEASE_SECONDS="60")  # nobody renews it while the interpreter is held
    held = function == "t.hold_interpreter"
    given = {"journal": fleet.journal} | ({"pipe": fleet.pipe("go")} if held else {"file": fleet.flag("go")})
    timeout = WITHIN if (pool, held) == ("solo", False) else 0.5
    run_id = fleet.start([waiting(fleet, function=function, input=given, timeout=timeout)])
    assert fleet.ended(run_id)["error"]["type"] == "Timeout"
    assert fleet.tried(run_id, "a") == ["timed_out"]
    before = fleet.step(run_id, "a")
    fleet.open_pipe("go") if held else fleet.raise_flag("go")
    wait_for(lambda: "its claim was lost" in worker.said(), what="the late result is dropped")
    assert fleet.step(run_id, "a") == before


def test_a_late_result_before_the_fence_is_dropped_too_and_the_attempts_log_says_so(fleet: Fleet) -> None:
    """On threads the function comes back after its timeout, and before the coordinator has fenced it off."""
    fleet.worker("threads")
    step = {"name": "a", "function": "t.span", "input": {"journal": fleet.journal, "seconds": 1.0}, "timeout": 0.2}
    run_id = fleet.start([step])
    assert fleet.ended(run_id)["error"]["type"] == "Timeout"
    (line,) = fleet.rows("SELECT message FROM step_logs")
    assert "after its timeout of 0.2 s" in line.message


def test_a_short_step_after_one_that_timed_out_is_not_hit_by_its_alarm(fleet: Fleet) -> None:
    fleet.worker(concurrency=1)
    steps: list[dict[str, Any]] = [waiting(fleet, on_error="continue")]
    for number in range(20):
        before = f"s{number - 1}" if number else "a"
        steps.append(
            {"name": f"s{number}", "function": "t.add", "input": {"a": 1}, "timeout": 30, "depends_on": [before]}
        )
    run_id = fleet.start(steps)
    assert fleet.ended(run_id)["output"] == {"s19": 2}
