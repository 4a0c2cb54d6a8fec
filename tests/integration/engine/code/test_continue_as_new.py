"""A function that begins anew: its run stays, its journal does not grow."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.services.signal import signal
from orchestrator.store.db import Database
from tests.coding import Coders
from tests.support import soaked


@pytest.fixture
def coders(module_db: Database) -> Coders:
    return Coders(module_db, {"double": lambda n: 2 * n})


def _sizes(coders: Coders, run_id: str) -> list[int]:
    """Rows of the run: journal, steps, signals, events, attempts."""
    counts = [
        f"SELECT count(*) FROM {table} WHERE run_id = '{run_id}'"
        for table in ("workflow_journal", "workflow_run_steps", "workflow_signals", "run_events")
    ]
    counts.append(
        "SELECT count(*) FROM workflow_step_attempts a JOIN workflow_run_steps s ON s.id = a.step_id"
        f" WHERE s.run_id = '{run_id}'"
    )
    with coders.db.transaction() as conn:
        return [conn.execute(text(count)).scalar_one() for count in counts]


@pytest.mark.timeout(1800)
def test_a_loop_of_many_generations_keeps_its_run_small(coders: Coders) -> None:
    generations = soaked(20, 10_000)

    def loop(ctx: Any, input: Any) -> Any:
        assert ctx.generation == input["n"]
        total = input["total"] + ctx.step("one", lambda: 1) + ctx.call("double", {"n": 1})
        if input["n"] + 1 < generations:
            ctx.continue_as_new({"n": input["n"] + 1, "total": total})
        return total

    run_id = coders.begin(loop, {"n": 0, "total": 0})
    run = coders.finish(run_id)
    assert (run["status"], run["output"], run["input"]) == ("succeeded", 3 * generations, {"n": 0, "total": 0})
    assert _sizes(coders, run_id) == [4, 2, 0, 2, 2]


def test_events_children_and_parents_follow_a_run_that_goes_on_anew(coders: Coders) -> None:
    def again(ctx: Any, input: Any) -> Any:
        got = [*input.get("got", []), ctx.wait_event("go"), ctx.await_child(ctx.spawn_child("leaf", len(input)))]
        ctx.await_child(ctx.spawn_child("leaf", 9, child_id="once"))
        if len(got) < 4:
            ctx.continue_as_new({"got": got})
        return got

    coders.know(lambda ctx, input: ctx.call("double", {"n": input}), "leaf")
    coders.know(again, "again")
    run_id = coders.begin(lambda ctx, input: ctx.await_child(ctx.spawn_child("again", {})))
    coders.work()
    with coders.db.transaction() as conn:
        child = str(
            conn.execute(text("SELECT id FROM workflow_runs WHERE parent_run_id = :id"), {"id": run_id}).scalar()
        )
    signal(coders.engine, child, "go", "a")
    signal(coders.engine, child, "go", "b")
    assert coders.finish(run_id)["output"] == ["a", 0, "b", 2]
    assert _sizes(coders, child)[2] == 1
    assert coders.status(child) == "succeeded"


def test_a_failure_in_a_later_generation_reaches_the_parent(coders: Coders) -> None:
    def failing(ctx: Any, input: Any) -> Any:
        if input == 1:
            raise LookupError("nothing more")
        ctx.continue_as_new(1)

    coders.know(failing, "failing")
    run = coders.finish(coders.begin(lambda ctx, input: ctx.await_child(ctx.spawn_child("failing", 0))))
    assert run["error"]["type"] == "LookupError"
