"""Sub-workflows through real workers: none is held while a parent waits, and none of it is lost with one."""

from __future__ import annotations

from typing import Any

from orchestrator.services.cancel import cancel
from orchestrator.services.register import register
from orchestrator.services.start import start as start_run
from tests.families import below, levels
from tests.integration.workers.fleet import Fleet
from tests.support import wait_for

LEVELS = ("top", "middle", "low")


def start(fleet: Fleet, leaf: dict[str, Any], **keys: Any) -> str:
    """A run with a child and a grandchild, whose last step is `leaf`."""
    for one in levels(*LEVELS, leaf=leaf, **keys):
        register(fleet.engine, one, actor="test")
    return start_run(fleet.engine, LEVELS[0]).run_id


def statuses(fleet: Fleet, run_id: str) -> list[str]:
    """Of the run, its child, and the child of that, as far as they are there."""
    rows = fleet.rows("SELECT status FROM workflow_runs WHERE root_id = :id ORDER BY depth", id=run_id)
    return [row.status for row in rows]


def test_one_worker_of_one_slot_runs_parent_child_and_grandchild_to_their_ends(fleet: Fleet) -> None:
    fleet.worker(concurrency=1)
    run_id = start(fleet, {"name": "leaf", "function": "t.add", "input": {"a": 1}})
    assert fleet.ended(run_id)["output"] == {"down": {"down": {"leaf": 2}}}
    assert statuses(fleet, run_id) == ["succeeded"] * 3


def test_many_families_share_two_workers(fleet: Fleet) -> None:
    for _ in range(2):
        fleet.worker()
    runs = [start(fleet, {"name": "leaf", "function": "t.add", "input": {"a": 1}}) for _ in range(25)]
    assert {fleet.ended(run_id)["status"] for run_id in runs} == {"succeeded"}


def test_a_worker_that_is_killed_with_the_leaf_loses_none_of_its_family(fleet: Fleet) -> None:
    worker = fleet.worker(concurrency=1)
    leaf = {"name": "leaf", "function": "t.wait", "input": {"journal": fleet.journal, "file": fleet.flag("go")}}
    run_id = start(fleet, leaf)
    fleet.wait_event("start")
    worker.kill()
    fleet.raise_flag("go")
    fleet.worker()
    fleet.beat()
    assert fleet.ended(run_id)["status"] == "succeeded"
    assert statuses(fleet, run_id) == ["succeeded"] * 3


def test_a_cancel_of_the_parent_is_seen_by_the_function_three_levels_below(fleet: Fleet) -> None:
    fleet.worker()
    leaf = {
        "name": "leaf",
        "function": "t.until_canceled",
        "input": {"journal": fleet.journal, "file": fleet.flag("go"), "stays": fleet.flag("leave")},
    }
    run_id = start(fleet, leaf)
    fleet.wait_event("start")
    cancel(fleet.engine, run_id)
    fleet.wait_event("saw cancel")
    assert statuses(fleet, run_id) == ["canceling"] * 3
    fleet.raise_flag("leave")
    assert fleet.ended(run_id)["status"] == "canceled"
    assert statuses(fleet, run_id) == ["canceled"] * 3


def test_a_forced_cancel_of_the_parent_interrupts_the_function_three_levels_below(fleet: Fleet) -> None:
    fleet.worker(TIMEOUT_GRACE_SECONDS="30")
    leaf = {"name": "leaf", "function": "t.wait", "input": {"journal": fleet.journal, "file": fleet.flag("go")}}
    run_id = start(fleet, leaf)
    fleet.wait_event("start")
    cancel(fleet.engine, run_id, force=True)
    assert statuses(fleet, run_id) == ["canceled"] * 3
    assert fleet.wait_event("raised")["error"] == "AttemptCanceled"


def test_the_parents_deadline_interrupts_the_function_below(fleet: Fleet) -> None:
    fleet.worker(TIMEOUT_GRACE_SECONDS="30")
    fleet.beat()
    leaf = {"name": "leaf", "function": "t.wait", "input": {"journal": fleet.journal, "file": fleet.flag("go")}}
    register(fleet.engine, levels("low", leaf=leaf)[0], actor="test")
    run_id = fleet.start([below("down", "low")], timeout=600)
    fleet.wait_event("start")
    fleet.rows("UPDATE workflow_runs SET deadline_at = now() WHERE id = :id RETURNING id", id=run_id)
    assert fleet.ended(run_id)["error"]["type"] == "DeadlineExceeded"
    assert fleet.wait_event("raised")["error"] == "AttemptCanceled"
    wait_for(lambda: statuses(fleet, run_id) == ["failed", "canceled"], what="the child to end")
