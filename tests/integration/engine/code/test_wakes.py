"""What a function waits for may come before, while and after it is suspended: it is woken once, and always."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.errors import Conflict
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import Claimed
from orchestrator.services.coordinate import tick
from orchestrator.services.settle_all import Done
from orchestrator.services.signal import signal
from orchestrator.store.db import Database
from tests.coding import Coders, paused
from tests.families import children_of
from tests.hands import together
from tests.support import soaked

TRIES = soaked(5, 1000)


@pytest.fixture
def coders(module_db: Database) -> Coders:
    return Coders(module_db, {"double": lambda n: 2 * n})


def _driver(coders: Coders, run_id: str) -> tuple[Claimed, list[Claimed]]:
    """The claims of what waits: the driver, and the others."""
    claimed = coders.claim()
    mine = [one for one in claimed if one.run_id == run_id and one.position == 0]
    return mine[0], [one for one in claimed if one is not mine[0]]


def _began(ctx: Any) -> Any:
    """A call that is under way while the function goes on."""
    handle = ctx.start_call("double", {"n": 1})
    ctx.step("flush", lambda: None)
    return handle


@pytest.mark.parametrize("number", range(TRIES))
def test_the_end_of_a_call_is_never_missed_and_never_told_twice(coders: Coders, number: int) -> None:
    turns: list[int] = []

    def work(ctx: Any, input: Any) -> Any:
        turns.append(1)
        return ctx.gather(_began(ctx))

    run_id = coders.begin(work)
    driver, _ = _driver(coders, run_id)
    held = coders.perform(driver)  # the call is ready from here on, and the function not suspended yet
    (call,) = coders.claim()
    done = coders.perform(call)
    together([paused(lambda: coders.settle_all([held])), paused(lambda: coders.settle_all([done]))])
    assert coders.finish(run_id)["output"] == [2]
    assert len(turns) == 2
    assert coders.steps(run_id)["driver"]["attempts"] == 1


@pytest.mark.parametrize("number", range(TRIES))
def test_an_event_is_never_missed_whenever_it_comes(coders: Coders, number: int) -> None:
    run_id = coders.begin(lambda ctx, input: ctx.wait_event("go"))
    driver, _ = _driver(coders, run_id)
    held = coders.perform(driver)

    def waiting() -> None:
        coders.settle_all([held])
        for claimed in coders.claim():
            coders.settle_all([coders.perform(claimed)])

    together([paused(waiting), paused(paused(lambda: signal(coders.engine, run_id, "go", number)))])
    assert coders.finish(run_id)["output"] == number


@pytest.mark.parametrize("number", range(TRIES))
def test_a_childs_end_is_never_missed_also_by_who_was_attached_to_it(coders: Coders, number: int) -> None:
    name = f"only-{number}"
    coders.know(lambda ctx, input: ctx.wait_event("go"), "leaf")

    def work(ctx: Any, input: Any) -> Any:
        return ctx.await_child(ctx.spawn_child("leaf", child_id=name))

    first, second = coders.begin(work, name="one"), coders.begin(work, name="two")
    for claimed in coders.claim():
        coders.settle(claimed)
    spawning = [coders.perform(claimed) for claimed in coders.claim()]
    assert len(spawning) == 2

    def settle(done: Done) -> Callable[[], Any]:
        return paused(lambda: coders.settle_all([done]))

    together([settle(done) for done in spawning])
    (child,) = [*children_of(coders, first), *children_of(coders, second)]
    together([paused(coders.work), paused(lambda: signal(coders.engine, child, "go", 7))])
    assert [coders.finish(run_id)["output"] for run_id in (first, second)] == [7, 7]


@pytest.mark.parametrize("number", range(TRIES))
def test_a_timer_that_goes_off_at_any_moment_wakes_once(coders: Coders, number: int) -> None:
    run_id = coders.begin(lambda ctx, input: ctx.sleep(0.001) or "slept")
    driver, _ = _driver(coders, run_id)
    held = coders.perform(driver)

    def sleeping() -> None:
        coders.settle_all([held])
        for claimed in coders.claim():
            coders.settle_all([coders.perform(claimed)])

    together([paused(sleeping), paused(lambda: tick(coders.engine))])
    assert coders.finish(run_id)["output"] == "slept"
    with coders.db.transaction() as conn:
        tried = "SELECT count(*) FROM workflow_step_attempts a JOIN workflow_run_steps s ON s.id = a.step_id"
        assert conn.execute(text(f"{tried} WHERE s.run_id = :id"), {"id": run_id}).scalar() == 2


@pytest.mark.parametrize("number", range(TRIES))
def test_a_cancel_and_the_end_of_a_run_make_one_end(coders: Coders, number: int) -> None:
    run_id = coders.begin(lambda ctx, input: [ctx.gather(_began(ctx))])
    driver, _ = _driver(coders, run_id)
    coders.settle(driver)
    coders.settle_all([coders.perform(call) for call in coders.claim()])
    (last,) = coders.claim()
    done = coders.perform(last)

    def stop() -> bool:
        try:
            cancel(coders.engine, run_id, force=number % 2 == 0)
        except Conflict:
            return False
        return True

    _, canceled = together([paused(lambda: coders.settle_all([done])), paused(stop)])
    coders.finish(run_id)
    ends = [kind for kind in coders.events(run_id) if kind in ("run.succeeded", "run.canceled", "run.failed")]
    assert ends in ([["run.canceled"]] if canceled and number % 2 == 0 else [["run.succeeded"], ["run.canceled"]])
    assert coders.status(run_id) == ends[0].removeprefix("run.")
