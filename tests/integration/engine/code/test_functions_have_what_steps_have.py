"""Pools, limits, rates, schemas, timeouts, Celery tasks: for what a function begins, as for steps of documents."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.celery_task import STEPS
from orchestrator.domain.definition import Retry
from orchestrator.domain.outcome import Outcome
from orchestrator.errors import InvalidInput, OrchestratorError, StepFailed
from orchestrator.functions import make_spec
from orchestrator.services.coordinate import tick
from orchestrator.services.pools import set_pool
from orchestrator.services.start import start
from orchestrator.store.db import Database
from tests.coding import Coders


@pytest.fixture
def coders(db: Database) -> Coders:
    return Coders(db, {"double": lambda n: 2 * n})


def test_a_pool_and_a_rate_hold_for_calls(coders: Coders) -> None:
    set_pool(coders.engine, "narrow", 2, actor="test")
    coders.engine.functions.put(make_spec(lambda: "rated", "rated", rate="1/h"))

    def work(ctx: Any, input: Any) -> Any:
        return ctx.map("double", [{"n": n} for n in range(5)], pool="narrow", priority=3, name="d")

    run_id = coders.begin(work)
    (driver,) = coders.claim()
    coders.settle(driver)
    assert len(coders.claim()) == 2
    coders.begin(lambda ctx, input: ctx.map("rated", [{}, {}]))
    coders.work()
    assert coders.status(run_id) == "running"


def test_a_celery_task_is_called_by_a_function(coders: Coders) -> None:
    run_id = coders.begin(lambda ctx, input: ctx.call("celery:proj.add", {"x": "{{ 1 }}"}, queue="theirs"))
    coders.work()
    (called,) = coders.outbox.calls
    assert (called.name, called.kwargs, called.queue) == ("proj.add", {"x": "{{ 1 }}"}, "theirs")
    assert coders.statuses(run_id)["celery:proj.add"] == "waiting"
    assert STEPS == "orchestrator.celery"


def test_a_call_that_is_lost_or_fails_is_tried_again_as_its_policy_says(coders: Coders) -> None:
    retry = Retry(max_attempts=2)
    run_id = coders.begin(lambda ctx, input: ctx.call("broken", retry=retry, timeout=60, on_lost="fail"))
    coders.engine.functions.put(make_spec(_broken, "broken"))
    assert coders.finish(run_id)["error"]["type"] == "LookupError"
    assert len(coders.steps(run_id)["broken"]["history"]) == 2
    run_id = coders.begin(lambda ctx, input: ctx.call("double", {"n": 1}, on_lost="fail"))
    (driver,) = coders.claim()
    coders.settle(driver)
    (call,) = coders.claim()
    coders.settle(call, Outcome.lost("gone"))
    assert coders.finish(run_id)["error"]["type"] == "WorkerLost"


def _broken() -> None:
    raise LookupError("nothing")


def test_schemas_and_limits_are_checked_as_for_documents(coders: Coders) -> None:
    number = {"type": "object", "properties": {"n": {"type": "integer", "default": 7}}}
    with pytest.raises(OrchestratorError, match="timeout"):
        coders.know(lambda ctx, input: None, "w", timeout=-1)
    run = coders.finish(coders.begin(lambda ctx, input: input, {}, name="w", input_schema=number))
    assert run["output"] == {"n": 7}
    with pytest.raises(InvalidInput):
        start(coders.engine, "w", {"n": "x"})
    run = coders.finish(coders.begin(lambda ctx, input: 5, name="v", output_schema={"type": "string"}))
    assert run["error"]["type"] == "OutputSchemaError"


def test_runs_of_a_function_wait_for_their_turn(coders: Coders) -> None:
    def work(ctx: Any, input: Any) -> Any:
        return ctx.call("double", {"n": input})

    first, second = coders.begin(work, 1, max_active_runs=1), coders.begin(work, 2, max_active_runs=1)
    assert [coders.status(run_id) for run_id in (first, second)] == ["running", "pending"]
    assert coders.finish(first)["output"] == 2
    assert coders.finish(second)["output"] == 4


@pytest.mark.parametrize("value", ["{{ 1 }}", {"t": "{{ nope", "n": None}, None, [1.5, True], 10**30])
def test_any_value_is_given_back_as_it_is(coders: Coders, value: Any) -> None:
    run = coders.finish(coders.begin(lambda ctx, input: ctx.step("s", lambda: input["v"]), {"v": value}))
    assert run["output"] == value


def test_a_function_that_loses_its_worker_again_and_again_goes_on_if_it_gets_on(coders: Coders) -> None:
    done: list[int] = []

    def work(ctx: Any, input: Any) -> Any:
        for number in range(6):
            before = len(done)
            ctx.step("s", done.append, number)
            if before < len(done) < 6:
                coders.settle(held[-1], Outcome.lost("died"))
                return "unseen"
        return "through"

    held: list[Any] = []
    run_id = coders.begin(work)
    for _ in range(20):
        for claimed in coders.claim():
            held.append(claimed)
            coders.settle(claimed)
        tick(coders.engine)
    assert coders.run(run_id)["output"] == "through"
    assert done == [0, 1, 2, 3, 4, 5]


def test_an_error_that_no_function_catches_says_where_it_came_from(coders: Coders) -> None:
    def work(ctx: Any, input: Any) -> Any:
        try:
            ctx.step("charge", _broken)
        except StepFailed as error:
            raise ValueError("not today") from error

    run = coders.finish(coders.begin(work))
    assert run["error"] == {"type": "ValueError", "message": "not today", "step": "driver"}
