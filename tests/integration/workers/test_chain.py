"""Steps through real workers, when nothing goes wrong."""

from __future__ import annotations

import pytest

from tests.integration.workers.fleet import Fleet
from tests.support import wait_for


def chain(length: int) -> list[dict[str, object]]:
    """Steps that each add 1 to what the one before gave."""
    steps: list[dict[str, object]] = [{"name": "s0", "function": "t.add", "input": {"a": 0}}]
    for number in range(1, length):
        given = {"a": "{{ " + f"steps.s{number - 1}.output" + " }}"}
        steps.append({"name": f"s{number}", "function": "t.add", "input": given, "depends_on": [f"s{number - 1}"]})
    return steps


@pytest.mark.parametrize("pool", ["prefork", "solo", "threads"])
def test_a_chain_of_fifty_steps_runs_to_its_end_without_a_beat(fleet: Fleet, pool: str) -> None:
    fleet.worker(pool)
    run_id = fleet.start(chain(50))
    assert fleet.ended(run_id)["output"] == {"s49": 50}
    assert {fleet.step(run_id, f"s{number}")["attempts"] for number in range(50)} == {1}


def test_a_message_ends_after_its_time_and_the_chain_goes_on_in_others(fleet: Fleet) -> None:
    fleet.worker(CONTINUATION_SECONDS="0")
    run_id = fleet.start(chain(10))
    assert fleet.ended(run_id)["output"] == {"s9": 10}


def test_more_steps_than_the_window_holds_all_run(fleet: Fleet) -> None:
    fleet.worker(WINDOW="3")
    run_id = fleet.start([{"name": f"s{number}", "function": "t.add", "input": {"a": number}} for number in range(40)])
    run = fleet.ended(run_id)
    assert run["output"] == {f"s{number}": number + 1 for number in range(40)}


def test_each_queue_has_its_own_workers(fleet: Fleet) -> None:
    here = fleet.worker(options=["-Q", "default"])
    there = fleet.worker(options=["-Q", "far"])
    run_id = fleet.start(
        [
            {"name": "a", "function": "t.span", "input": {"journal": fleet.journal}},
            {
                "name": "b",
                "function": "t.span",
                "input": {"journal": fleet.journal},
                "queue": "far",
                "depends_on": ["a"],
            },
            {"name": "c", "function": "t.span", "input": {"journal": fleet.journal}, "depends_on": ["b"]},
        ]
    )
    assert fleet.ended(run_id)["status"] == "succeeded"
    ran_in = {event["step"]: event["pid"] for event in fleet.events("end")}
    assert ran_in["a"] in here.children()
    assert ran_in["b"] in there.children()
    assert ran_in["c"] in here.children()


def test_a_worker_announces_itself_and_its_functions_and_says_goodbye(fleet: Fleet) -> None:
    worker = fleet.worker(options=["-Q", "default,far"])
    (row,) = fleet.rows("SELECT * FROM workers")
    assert (row.kind, row.queues, row.concurrency, row.pool) == ("worker", ["default", "far"], 2, "prefork")
    names = {row.name for row in fleet.rows("SELECT name FROM functions")}
    assert {"t.add", "python.echo", "http.request"} <= names
    assert worker.stop() == 0
    (row,) = fleet.rows("SELECT * FROM workers")
    assert row.stopped_at is not None


def test_a_worker_that_stops_finishes_what_it_has_begun(fleet: Fleet) -> None:
    worker = fleet.worker()
    run_id = fleet.start(
        [{"name": "a", "function": "t.wait", "input": {"journal": fleet.journal, "file": fleet.flag("go")}}]
    )
    fleet.wait_event("start")
    worker.popen.terminate()
    wait_for(lambda: "Warm shutdown" in worker.said())
    fleet.raise_flag("go")
    assert worker.popen.wait(30) == 0
    assert fleet.ended(run_id)["output"] == {"a": 1}
    assert fleet.tried(run_id, "a") == ["succeeded"]


def test_secrets_reach_the_function_and_no_table(fleet: Fleet) -> None:
    fleet.worker(SECRET_API_KEY="hunter2hunter2")
    run_id = fleet.start(
        [{"name": "a", "function": "t.talk", "input": {"word": "{{ secrets.api_key }}"}}],
    )
    assert fleet.ended(run_id)["status"] == "succeeded"
    assert fleet.step(run_id, "a")["input"] == {"word": "***"}
    lines = [row.message for row in fleet.rows("SELECT message FROM step_logs")]
    assert "out ***" in lines
    assert not any("hunter2" in line for line in lines)
    assert not any("hunter2" in process.said() for process in fleet.processes)


def test_a_function_module_that_cannot_be_imported_keeps_the_worker_from_starting(fleet: Fleet) -> None:
    worker = fleet.start_only("worker", FUNCTIONS="tests.no_such_module")
    assert worker.popen.wait(30) != 0
    assert "tests.no_such_module" in worker.said()


def test_a_function_no_worker_has_fails_its_step_clearly(fleet: Fleet) -> None:
    fleet.worker()
    run = fleet.ended(fleet.start([{"name": "a", "function": "t.ad"}]))
    assert run["status"] == "failed"
    assert "'t.ad' is not known here" in run["error"]["message"]
    assert "did you mean 't.add'" in run["error"]["message"]
