"""Workers and their processes die in the middle of steps."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.integration.workers.fleet import Fleet, Process
from tests.support import wait_for


def hanging(fleet: Fleet, **more: Any) -> dict[str, Any]:
    """A step whose first attempt hangs until the flag `go`; later ones return at once."""
    given = {"journal": fleet.journal, "file": fleet.flag("go")}
    return {"name": "a", "function": "t.first_hangs", "input": given, **more}


def test_a_killed_pool_process_is_seen_at_once_and_its_step_runs_again(fleet: Fleet) -> None:
    """At once: with a lease of a minute and no beat, only the Keeper can have seen it."""
    fleet.worker(LEASE_SECONDS="60")
    run_id = fleet.start([hanging(fleet)])
    os.kill(fleet.wait_event("start")["pid"], signal.SIGKILL)
    assert fleet.ended(run_id)["output"] == {"a": 2}
    lost, succeeded = fleet.step(run_id, "a")["history"]
    assert (lost["outcome"], succeeded["outcome"]) == ("lost", "succeeded")
    assert "killed by SIGKILL" in lost["error"]["message"]


@pytest.mark.parametrize(
    ("how", "told"), [("os._exit", "exit code 3"), ("kill", "SIGKILL"), ("segfault", "killed by SIGSEGV")]
)
def test_a_function_that_ends_its_process_is_lost_and_runs_again(fleet: Fleet, how: str, told: str) -> None:
    fleet.worker(LEASE_SECONDS="60")
    run_id = fleet.start([{"name": "a", "function": "t.end", "input": {"how": how}}])
    assert fleet.ended(run_id)["output"] == {"a": 2}
    assert fleet.tried(run_id, "a") == ["lost", "succeeded"]
    assert told in fleet.step(run_id, "a")["history"][0]["error"]["message"]


def test_a_step_that_kills_every_process_is_poison(fleet: Fleet) -> None:
    fleet.worker(LEASE_SECONDS="60", MAX_LOST="2")
    run_id = fleet.start([hanging(fleet, name="b", function="t.wait")])
    for attempt in (1, 2):
        os.kill(fleet.wait_event("start", count=attempt)["pid"], signal.SIGKILL)
    run = fleet.ended(run_id)
    assert (run["status"], run["error"]["type"]) == ("failed", "Poison")
    assert fleet.tried(run_id, "b") == ["lost", "lost"]


def test_a_step_that_is_not_to_be_repeated_fails_when_its_process_dies(fleet: Fleet) -> None:
    fleet.worker(LEASE_SECONDS="60")
    run_id = fleet.start([hanging(fleet, on_lost="fail")])
    os.kill(fleet.wait_event("start")["pid"], signal.SIGKILL)
    assert fleet.ended(run_id)["status"] == "failed"
    assert fleet.step(run_id, "a")["reason"] == "lost"


def test_the_steps_of_a_killed_worker_go_on_in_another(fleet: Fleet) -> None:
    fleet.beat()
    first = fleet.worker()
    run_id = fleet.start([hanging(fleet), {"name": "b", "function": "t.add", "input": {"a": 1}, "depends_on": ["a"]}])
    fleet.wait_event("start")
    fleet.worker()
    first.kill()
    assert fleet.ended(run_id)["output"] == {"b": 2}
    assert fleet.tried(run_id, "a") == ["lost", "succeeded"]


def test_a_frozen_worker_that_wakes_up_after_its_lease_changes_nothing(fleet: Fleet) -> None:
    fleet.beat()
    first = fleet.worker(TIMEOUT_GRACE_SECONDS="30")  # that wakes up slowly, and is not to be killed for that
    run_id = fleet.start([hanging(fleet)])
    fleet.wait_event("start")
    wait_for(lambda: _frozen_between_transactions(fleet, first), what="it holds no lock")
    fleet.worker()
    assert fleet.ended(run_id)["output"] == {"a": 2}
    before = fleet.step(run_id, "a")
    fleet.raise_flag("go")
    first.signal(signal.SIGCONT)
    # Its function ends of itself or is interrupted, whichever comes first.
    wait_for(lambda: "its claim was lost" in first.said(), what="the late result is dropped")
    assert fleet.step(run_id, "a") == before
    # And the worker that woke up is of use again.
    again = fleet.start([{"name": "a", "function": "t.add", "input": {"a": 1}}])
    assert fleet.ended(again)["output"] == {"a": 2}


def _frozen_between_transactions(fleet: Fleet, worker: Process) -> bool:
    """Stop it, and let it go on if it is within a transaction: what that has locked nobody else gets before it ends."""
    worker.signal(signal.SIGSTOP)
    within = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL"
    if not fleet.rows(f"{within} AND application_name = 'orchestrator-worker'"):
        return True
    worker.signal(signal.SIGCONT)
    return False


def test_pool_processes_that_are_fresh_interpreters_keep_their_own_leases(fleet: Fleet) -> None:
    """As on macOS; one that is killed is missed when its lease runs out."""
    fleet.beat()
    fleet.worker(app="tests.integration.workers.spawning", LEASE_SECONDS="6", HEARTBEAT_SECONDS="0.5")
    run_id = fleet.start([hanging(fleet), hanging(fleet, name="b", function="t.wait")])
    pids = {name: fleet.wait_event("start", name)["pid"] for name in "ab"}
    outlives_its_lease(fleet, "b")
    assert fleet.tried(run_id, "b") == []
    os.kill(pids["a"], signal.SIGKILL)
    wait_for(lambda: fleet.tried(run_id, "a") == ["lost", "succeeded"], 60)
    fleet.raise_flag("go")
    assert fleet.ended(run_id)["output"] == {"a": 2, "b": 1}


def outlives_its_lease(fleet: Fleet, name: str) -> None:
    """Wait for the end of the lease that the step has now, and for a later one."""
    (lease,) = fleet.rows("SELECT lease_expires_at AS ends FROM workflow_run_steps WHERE name = :name", name=name)
    later = "SELECT FROM workflow_run_steps WHERE name = :name AND lease_expires_at > :ends AND now() > :ends"
    wait_for(lambda: fleet.rows(later, name=name, ends=lease.ends), what="the lease was renewed")


def test_a_function_that_holds_the_interpreter_keeps_its_lease(fleet: Fleet) -> None:
    fleet.beat()
    fleet.worker(LEASE_SECONDS="6", HEARTBEAT_SECONDS="0.5")
    given = {"journal": fleet.journal, "pipe": fleet.pipe("end")}
    run_id = fleet.start([{"name": "a", "function": "t.hold_interpreter", "input": given}])
    fleet.wait_event("start")
    outlives_its_lease(fleet, "a")
    fleet.open_pipe("end")
    assert fleet.ended(run_id)["output"] == {"a": 1}
    assert fleet.tried(run_id, "a") == ["succeeded"]


def test_a_worker_stopped_by_force_gives_its_steps_back_at_once(fleet: Fleet) -> None:
    worker = fleet.worker(LEASE_SECONDS="60")
    run_id = fleet.start([hanging(fleet)])
    fleet.wait_event("start")
    worker.popen.send_signal(signal.SIGQUIT)
    worker.popen.wait(30)
    fleet.worker(LEASE_SECONDS="60")
    run = fleet.ended(run_id)
    assert (run["output"], run["error"]) == ({"a": 2}, None), fleet.step(run_id, "a")
    assert fleet.tried(run_id, "a") == ["lost", "succeeded"]


def test_nothing_runs_twice_at_the_same_time_when_one_of_two_workers_is_killed(fleet: Fleet) -> None:
    """200 steps; a span that has no end was killed with its worker."""
    fleet.beat()
    doomed = fleet.worker()
    fleet.worker(LEASE_SECONDS="60")  # it loses nothing, however long it stands still
    given = {"journal": fleet.journal, "seconds": 0.05}
    rows = [
        {"name": f"s{row}x{column}", "function": "t.span", "input": given}
        | ({"depends_on": [f"s{row - 1}x{column}"]} if row else {})
        for row in range(10)
        for column in range(20)
    ]
    run_id = fleet.start(rows)
    wait_for(lambda: len(fleet.events("end")) > 50, 60)
    wait_for(lambda: _stopped_within_a_step(fleet, doomed), what="it is in the middle of a step")
    doomed.kill()
    run = fleet.ended(run_id, 90)
    assert run["status"] == "succeeded"
    spans: dict[str, list[tuple[int, float, float]]] = {}
    ends = {(event["step"], event["attempt"]): event["at"] for event in fleet.events("end")}
    killed_at = max(event["at"] for event in fleet.events() if event["pid"] not in _pids(fleet))
    for event in fleet.events("start"):
        end = ends.get((event["step"], event["attempt"]), killed_at)
        spans.setdefault(event["step"], []).append((event["attempt"], event["at"], end))
    assert len(spans) == 200
    for step, tries in spans.items():
        ordered = sorted(tries)
        assert all(one[2] <= next_one[1] for one, next_one in zip(ordered, ordered[1:], strict=False)), (step, ordered)
    assert {row.outcome for row in fleet.rows("SELECT outcome FROM workflow_step_attempts")} == {"lost", "succeeded"}


def _stopped_within_a_step(fleet: Fleet, worker: Process) -> bool:
    """Stop it, and let it go on if it has nothing to lose: a step that has ended may be stored at this moment."""
    worker.signal(signal.SIGSTOP)
    children = worker.children()
    mine = [event for event in fleet.events() if event["pid"] in children]
    tries = {kind: {(e["step"], e["attempt"]) for e in mine if e["kind"] == kind} for kind in ("start", "end")}
    if tries["start"] - tries["end"]:
        return True
    worker.signal(signal.SIGCONT)
    return False


def _pids(fleet: Fleet) -> set[int]:
    """Pool processes that live."""
    alive = [process for process in fleet.processes if process.popen.poll() is None]
    return {pid for process in alive for pid in process.children()}
