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
