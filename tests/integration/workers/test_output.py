"""What functions print, log and report, in the database by attempt."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.workers.fleet import Fleet
from tests.support import wait_for


def lines(fleet: Fleet, run_id: str, step: str) -> list[tuple[str, str]]:
    rows = fleet.rows(
        "SELECT l.stream, l.message FROM step_logs l JOIN workflow_run_steps s ON s.id = l.step_id"
        " WHERE l.run_id = :run AND s.name = :step ORDER BY l.id",
        run=run_id,
        step=step,
    )
    return [(row.stream, row.message) for row in rows]


def talked(word: str) -> list[tuple[str, str]]:
    return [("stdout", f"out {word}"), ("stderr", f"err {word}"), ("log", f"ctx {word}"), ("log", f"shop: log {word}")]


@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_prints_and_logs_land_with_their_attempt_threads_included(fleet: Fleet, pool: str) -> None:
    fleet.worker(pool)
    run_id = fleet.start(
        [
            {"name": "a", "function": "t.talk", "input": {"word": "one"}},
            {"name": "b", "function": "t.talk", "input": {"word": "two"}, "depends_on": ["a"]},
        ]
    )
    fleet.ended(run_id)
    assert lines(fleet, run_id, "a") == [*talked("one"), ("log", "thread one")]
    assert lines(fleet, run_id, "b") == [*talked("two"), ("log", "thread two")]


def test_attempts_in_threads_do_not_mix_their_lines(fleet: Fleet) -> None:
    fleet.worker("threads", concurrency=4)
    words = [f"w{number}" for number in range(4)]
    run_id = fleet.start(
        [{"name": word, "function": "t.talk", "input": {"word": word, "file": fleet.flag("go")}} for word in words]
    )
    running = "SELECT FROM workflow_run_steps WHERE status = 'running'"
    wait_for(lambda: len(fleet.rows(running)) == len(words))
    fleet.raise_flag("go")
    fleet.ended(run_id)
    for word in words:
        assert lines(fleet, run_id, word) == [*talked(word), ("stdout", f"late {word}")]


def test_a_retried_step_keeps_the_lines_of_each_attempt(fleet: Fleet) -> None:
    fleet.worker()
    step = {"name": "a", "function": "t.end", "input": {"how": "nan"}}
    run_id = fleet.start([step | {"function": "t.talk", "input": {"word": "one"}}])
    fleet.ended(run_id)
    rows = fleet.rows("SELECT DISTINCT attempt FROM step_logs")
    assert [row.attempt for row in rows] == [1]


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_long_attempt_is_seen_while_it_runs(fleet: Fleet, pool: str) -> None:
    fleet.worker(pool)
    given = {"word": "one", "file": fleet.flag("go")}
    run_id = fleet.start([{"name": "a", "function": "t.talk", "input": given}])
    wait_for(lambda: ("stdout", "out one") in lines(fleet, run_id, "a"), what="its lines are there")
    step = wait_for(lambda: s if (s := fleet.step(run_id, "a"))["input"] else None, what="its input is there")
    assert step is not None
    assert (step["status"], step["input"]) == ("running", given)
    fleet.raise_flag("go")
    fleet.ended(run_id)
    assert lines(fleet, run_id, "a")[-1] == ("stdout", "late one")
    assert len(lines(fleet, run_id, "a")) == len(set(lines(fleet, run_id, "a")))


def test_progress_is_stored_and_the_last_one_stays(fleet: Fleet) -> None:
    fleet.worker()
    run_id = fleet.start([{"name": "a", "function": "t.progress", "input": {"total": 500}}])
    fleet.ended(run_id)
    (row,) = fleet.rows("SELECT progress FROM workflow_run_steps")
    assert row.progress == {"done": 500, "total": 500}


ENDS: list[tuple[str, str, dict[str, Any]]] = [
    ("awkward", "failed", {"type": "Awkward"}),
    ("sys.exit", "failed", {"type": "SystemExit"}),
    ("generator exit", "failed", {"type": "GeneratorExit"}),
    ("ctrl-c", "failed", {"type": "KeyboardInterrupt"}),
    ("canceled", "failed", {"type": "AttemptCanceled", "message": "by nobody"}),
    ("faceless", "failed", {"type": "Faceless", "message": "here"}),
    ("hurried", "failed", {"type": "Hurried", "message": "soon"}),
    ("fail", "failed", {"type": "Fail", "message": "no more"}),
    ("skip", "skipped", {"type": "Skip", "message": "not today"}),
    ("surrogate", "failed", {"type": "ValueError"}),
    ("nan", "failed", {"type": "UnstorableValue"}),
    ("set", "failed", {"type": "UnstorableValue"}),
    ("nul", "failed", {"type": "UnstorableValue"}),
    ("bytes", "failed", {"type": "UnstorableValue"}),
    ("large", "failed", {"type": "UnstorableValue"}),
]


def test_whatever_a_function_raises_or_gives_ends_its_step_cleanly(fleet: Fleet) -> None:
    worker = fleet.worker(LEASE_SECONDS="60")
    before = worker.children()
    run_id = fleet.start(
        [{"name": f"s{n}", "function": "t.end", "input": {"how": how[0]}} for n, how in enumerate(ENDS)]
    )
    fleet.ended(run_id)
    for number, (how, status, error) in enumerate(ENDS):
        step = fleet.step(run_id, f"s{number}")
        assert (step["status"], step["attempts"]) == (status, 1), how
        assert {key: step["error"][key] for key in error} == error, how
    assert worker.children() == before
    assert "Traceback" not in worker.said()


@pytest.mark.parametrize("how", ["close", "replace", "remove", "wrap", "descriptors"])
def test_what_a_function_does_to_the_standard_streams_costs_the_next_one_nothing(fleet: Fleet, how: str) -> None:
    fleet.worker(concurrency=1)
    spoil = {"name": "a", "function": "t.spoil_output", "input": {"how": how}}
    talk = {"name": "b", "function": "t.talk", "input": {"word": "one"}, "depends_on": "a"}
    run_id = fleet.start([spoil, talk])
    assert fleet.ended(run_id)["status"] == "succeeded"
    assert lines(fleet, run_id, "b") == [*talked("one"), ("log", "thread one")]


def test_a_worker_whose_output_nobody_reads_still_runs_functions_that_print(fleet: Fleet) -> None:
    worker = fleet.worker(concurrency=1, app="tests.integration.workers.unread")
    run_id = fleet.start([{"name": "a", "function": "t.talk", "input": {"word": "one"}}])
    assert fleet.ended(run_id)["status"] == "succeeded"
    assert lines(fleet, run_id, "a") == [*talked("one"), ("log", "thread one")]
    assert "out one" not in worker.said()


@pytest.mark.parametrize(("how", "code"), [("return", 0), ("raise", 1)])
def test_a_child_forked_by_a_function_ends_where_the_function_does(fleet: Fleet, how: str, code: int) -> None:
    fleet.worker(concurrency=1)
    given = {"journal": fleet.journal, "how": how}
    follows = {"name": "b", "function": "t.span", "input": {"journal": fleet.journal}, "depends_on": "a"}
    run_id = fleet.start([{"name": "a", "function": "t.fork", "input": given}, follows])
    assert fleet.ended(run_id)["status"] == "succeeded"
    assert fleet.step(run_id, "a")["output"] == code
    assert fleet.tried(run_id, "a") == ["succeeded"]
    first, second = fleet.events("end")
    assert first["pid"] == second["pid"]


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_neither_progress_nor_a_thread_that_outlives_its_attempt_tells_a_secret(fleet: Fleet, pool: str) -> None:
    worker = fleet.worker(pool, concurrency=1, SECRET_TOKEN="hunter2-hunter2")
    given = {"secret": "{{ secrets.token }}", "file": fleet.flag("end")}
    tells = fleet.start([{"name": "a", "function": "t.tell_secret", "input": given}])
    fleet.ended(tells)
    assert fleet.rows("SELECT progress FROM workflow_run_steps")[0].progress == {"doing": ["***", "with ***"]}
    other = fleet.start([{"name": "a", "function": "t.talk", "input": {"word": "x", "file": fleet.flag("go")}}])
    told = worker.said().count("told: ***")
    wait_for(lambda: worker.said().count("told: ***") > told + 1, what="the thread goes on")
    if pool == "prefork":  # where it counts as one of the attempt that runs now
        wait_for(lambda: ("stdout", "told: ***") in lines(fleet, other, "a"), what="its lines are there")
    fleet.raise_flag("go")
    fleet.ended(other)
    fleet.raise_flag("end")
    assert not fleet.rows("SELECT message FROM step_logs WHERE message LIKE '%hunter2%'")
    assert "hunter2" not in worker.said()
