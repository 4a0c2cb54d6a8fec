"""Items of a step on real workers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psutil

from orchestrator.services.cancel import cancel
from orchestrator.services.register import register
from orchestrator.services.retry import retry
from orchestrator.services.signal import signal
from tests.integration.workers.fleet import Fleet, Process
from tests.support import wait_for


def each(function: str, items: Any, given: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"name": "each", "function": function, "with_items": items, "input": given, **keys}


def items(fleet: Fleet) -> list[Any]:
    return fleet.rows("SELECT * FROM workflow_run_steps WHERE item_of IS NOT NULL ORDER BY position")


def statuses(fleet: Fleet) -> Counter[str]:
    return Counter(row.status for row in items(fleet))


def resident(*processes: Process) -> list[float]:
    """Megabytes of each of these, and of the processes they have started."""
    found = [one for root in processes for one in (psutil.Process(root.pid), *psutil.Process(root.pid).children())]
    return [one.memory_info().rss / 1e6 for one in found]


def test_thousands_of_items_begin_while_rows_are_made_and_end_in_one_list_in_the_same_memory(fleet: Fleet) -> None:
    """One slot: the worker that makes the rows is the one that runs the items."""
    processes = fleet.worker(concurrency=1, LEASE_SECONDS="60"), fleet.beat()
    warm = fleet.start([each("t.add", "{{ range(200) | list }}", {"a": "{{ item }}"})])
    assert fleet.ended(warm)["status"] == "succeeded"
    before = resident(*processes)
    join = {"name": "join", "pass": True, "depends_on": "each", "input": "{{ steps.each.output | sum }}"}
    run_id = fleet.start([each("t.add", "{{ range(5000) | list }}", {"a": "{{ item }}", "b": 0}), join])
    assert fleet.ended(run_id, 100)["output"] == {"join": sum(range(5000))}
    grown = [after - was for was, after in zip(before, resident(*processes), strict=True)]
    assert max(grown) < 20, f"megabytes grown: {grown}"  # a value kept for each item would be more
    (row,) = fleet.rows(
        """
        SELECT min(i.started_at) AS begun, max(i.ready_at) AS made, max(i.attempt) AS tries,
          extract(epoch FROM max(i.ready_at) - min(s.started_at)) AS making
        FROM workflow_run_steps i JOIN workflow_run_steps s ON s.run_id = i.run_id AND s.position = i.item_of
        WHERE i.run_id = :id""",
        id=run_id,
    )
    # Where rows are made fast, all are before the first second is over, in which nothing else has its turn.
    assert row.begun < row.made or (row.making < 2 and (row.begun - row.made).total_seconds() < 20)
    assert (statuses(fleet), row.tries, fleet.step(run_id, "each")["attempts"]) == ({"succeeded": 5200}, 1, 1)


def test_a_dead_worker_loses_what_ran_and_a_retry_runs_that_and_the_rest_before_the_join(fleet: Fleet) -> None:
    """Six items: some have finished, two run as the machine dies, the others never began."""
    worker, go = fleet.worker(concurrency=2), fleet.flag("go")
    given = {"journal": fleet.journal, "file": "{{ item }}"}
    join = {
        "name": "join",
        "function": "t.add",
        "depends_on": "each",
        "input": {"a": "{{ steps.each.output | length }}"},
    }
    written = [None, None, go, go, None, None]
    fan = each("t.mostly_short", {"items": written, "concurrency": 2}, given, on_lost="fail")
    run_id = fleet.start([fan, join])
    wait_for(lambda: statuses(fleet)["succeeded"] == 2 and statuses(fleet)["running"] == 2, what="two run")
    worker.kill()
    fleet.beat()
    wait_for(lambda: statuses(fleet)["failed"] == 2, what="the two are lost")
    cancel(fleet.engine, run_id)
    assert fleet.ended(run_id)["status"] == "canceled"
    assert [row.status for row in items(fleet)] == ["succeeded"] * 2 + ["failed"] * 2 + ["canceled"] * 2
    fleet.raise_flag("go")
    fleet.worker(concurrency=2)
    assert retry(fleet.engine, run_id) == 2
    assert fleet.ended(run_id)["output"] == {"join": 7}
    assert [row.attempt for row in items(fleet)] == [1, 1, 2, 2, 1, 1]
    assert len(fleet.events("end", "each")) == 6
    last = max(row.finished_at for row in items(fleet))
    assert fleet.step(run_id, "join")["started_at"] >= last


def test_a_killed_process_takes_its_item_with_it_and_that_runs_again(fleet: Fleet) -> None:
    fleet.worker(concurrency=2, LEASE_SECONDS="60")
    fan = each("t.end", [1], {"how": "kill"})
    run_id = fleet.start([fan])
    assert fleet.ended(run_id)["output"] == {"each": [2]}


def test_a_cancel_while_rows_are_made_leaves_nothing_open(fleet: Fleet) -> None:
    fleet.worker(concurrency=2)
    fleet.beat()
    run_id = fleet.start([each("t.add", "{{ range(60000) | list }}", {"a": "{{ item }}"})])
    wait_for(lambda: len(fleet.rows("SELECT FROM workflow_run_steps WHERE item_of IS NOT NULL LIMIT 1")) == 1)
    cancel(fleet.engine, run_id)
    assert fleet.ended(run_id)["status"] == "canceled"
    found = statuses(fleet)
    assert set(found) <= {"succeeded", "canceled"}
    assert 0 < sum(found.values()) < 60000


def test_items_of_every_kind_share_one_slot(fleet: Fleet) -> None:
    """Children, sleeps and events: what waits holds no worker."""
    fleet.worker(concurrency=1, LEASE_SECONDS="60")
    fleet.beat()
    leaf = {"name": "leaf", "function": "t.add", "input": {"a": "{{ input.a }}"}}
    register(fleet.engine, {"name": "low", "steps": [leaf], "output": "{{ steps.leaf.output }}"}, actor="test")
    asked = {"items": "{{ range(12) | list }}", "concurrency": 5}
    steps = [
        {"name": "child", "workflow": "low", "with_items": asked, "input": {"a": "{{ item }}"}},
        {"name": "nap", "with_items": [0.1, 0.2, 0.3], "sleep": "{{ item }}"},
        {"name": "event", "with_items": ["x", "y"], "wait_for": {"event": "go-{{ item }}"}},
    ]
    run_id = fleet.start(steps)
    for name in "yx":
        signal(fleet.engine, run_id, f"go-{name}", name)
    output = {"child": list(range(1, 13)), "nap": [None] * 3, "event": ["x", "y"]}
    assert fleet.ended(run_id)["output"] == output
    assert {row.attempt for row in items(fleet)} == {1}


def test_a_forced_cancel_interrupts_the_functions_below_the_items(fleet: Fleet) -> None:
    fleet.worker(concurrency=2, TIMEOUT_GRACE_SECONDS="30")
    leaf = {"name": "leaf", "function": "t.wait", "input": {"journal": fleet.journal, "file": fleet.flag("never")}}
    register(fleet.engine, {"name": "low", "steps": [leaf]}, actor="test")
    run_id = fleet.start([{"name": "each", "workflow": "low", "with_items": [1, 2, 3]}])
    fleet.wait_event("start", count=2)
    cancel(fleet.engine, run_id, force=True)
    rows = fleet.rows("SELECT status FROM workflow_runs WHERE root_id = :id", id=run_id)
    assert [row.status for row in rows] == ["canceled"] * 4
    fleet.wait_event("raised", count=2)
