"""A workflow that is a function, from its start to its end, on the engine driven by hand."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.definition import Retry
from orchestrator.errors import StepFailed
from orchestrator.services.signal import signal
from orchestrator.store.db import Database
from tests.coding import Coders


@pytest.fixture
def coders(module_db: Database) -> Coders:
    return Coders(module_db, {"double": lambda n: 2 * n, "broken": _broken})


def _broken() -> None:
    raise ValueError("no")


def test_steps_calls_sleeps_and_events_come_out_once_and_in_order(coders: Coders) -> None:
    turns: list[int] = []

    def order(ctx: Any, input: Any) -> Any:
        turns.append(1)
        charge = ctx.step("charge", lambda amount: {"id": amount}, amount=input["amount"])
        label = ctx.call("double", {"n": input["amount"]}, retry=Retry(max_attempts=5))
        ctx.sleep(3600)
        ok = ctx.wait_event("approved", timeout=86400)
        return {"charge": charge, "label": label, "ok": ok}

    run_id = coders.begin(order, {"amount": 21}, version="3")
    coders.work()
    assert coders.statuses(run_id) == {"driver": "waiting", "double": "succeeded", "sleep": "waiting"}
    coders.due(run_id)
    with pytest.raises(AssertionError, match="has not ended"):
        coders.finish(run_id, 3)
    assert coders.open_steps(run_id) == {"driver": "waiting", "approved": "waiting"}
    assert signal(coders.engine, run_id, "approved", {"by": "eve"}).step == "approved"
    run = coders.finish(run_id)
    assert (run["status"], run["output"]) == (
        "succeeded",
        {"charge": {"id": 21}, "label": 42, "ok": {"by": "eve"}},
    )
    assert len(turns) == 4
    assert [key for _, part, key, _ in coders.journal(run_id) if part == 0] == ["charge", "double", "sleep", "approved"]
    assert coders.steps(run_id)["driver"]["attempts"] == 1


def test_a_sleep_until_what_has_gone_by_is_none(coders: Coders) -> None:
    assert coders.finish(coders.begin(lambda ctx, input: ctx.sleep(-0.5) or "awake"))["output"] == "awake"


def test_an_event_that_came_before_is_taken_at_once(coders: Coders) -> None:
    run_id = coders.begin(lambda ctx, input: [ctx.wait_event("go"), ctx.wait_event("go")])
    signal(coders.engine, run_id, "go", 1)
    coders.work()
    signal(coders.engine, run_id, "go", 2)
    assert coders.finish(run_id)["output"] == [1, 2]


def test_a_call_that_fails_raises_in_the_function_and_may_be_caught(coders: Coders) -> None:
    def careful(ctx: Any, input: Any) -> Any:
        try:
            return ctx.call("broken")
        except StepFailed as error:
            return [error.step, error.type, error.told]

    assert coders.finish(coders.begin(careful))["output"] == ["broken", "ValueError", "no"]
    careless = coders.finish(coders.begin(lambda ctx, input: ctx.call("broken")))
    assert careless["status"] == "failed"
    assert careless["error"] == {"type": "ValueError", "message": "broken: no", "step": "driver"}
    unknown = coders.finish(coders.begin(lambda ctx, input: ctx.call("brokn")))
    assert "did you mean 'broken'" in unknown["error"]["message"]
    pool = coders.finish(coders.begin(lambda ctx, input: ctx.call("double", {"n": 1}, pool="nowhere")))
    assert "there is no pool 'nowhere'" in pool["error"]["message"]


def test_templates_in_the_input_of_a_call_are_text(coders: Coders) -> None:
    def work(ctx: Any, input: Any) -> Any:
        return [ctx.call("double", {"n": text}, timeout=timeout) for text, timeout in (("{{ x", None), ("{{ 1 }}", 9))]

    assert coders.finish(coders.begin(work))["output"] == ["{{ x{{ x", "{{ 1 }}{{ 1 }}"]


def test_what_a_function_began_and_left_is_stopped_as_it_ends(coders: Coders) -> None:
    def work(ctx: Any, input: Any) -> Any:
        ctx.start_call("double", {"n": 1})
        ctx.spawn_child("code", "slow")
        return "done"

    def slow(ctx: Any, input: Any) -> Any:
        return ctx.wait_event("never") if input == "slow" else work(ctx, input)

    run = coders.finish(coders.begin(slow, {}))
    assert (run["status"], run["output"]) == ("succeeded", "done")
    steps = coders.steps(run["id"])
    assert {(step["status"], step["reason"]) for name, step in steps.items() if name != "driver"} == {
        ("canceled", "left")
    }


def test_a_gather_begins_all_its_calls_at_once_and_wakes_the_function_once(coders: Coders) -> None:
    turns: list[int] = []

    def work(ctx: Any, input: Any) -> Any:
        turns.append(1)
        return ctx.gather(*[ctx.start_call("double", {"n": n}) for n in range(20)])

    run_id = coders.begin(work)
    assert coders.finish(run_id)["output"] == [2 * n for n in range(20)]
    assert len(turns) == 2


def test_a_map_runs_as_many_at_a_time_as_it_says(coders: Coders) -> None:
    def work(ctx: Any, input: Any) -> Any:
        first = ctx.start_call("double", {"n": 100})
        return [ctx.map("double", [{"n": n} for n in range(7)], concurrency=3), *ctx.gather(first)]

    run_id = coders.begin(work)
    (driver,) = coders.claim()
    coders.settle(driver)
    begun = coders.statuses(run_id)
    assert sum(status in ("ready", "queued") for status in begun.values()) == 4
    held = coders.claim()
    for one in held:
        coders.settle(one)
        now = [s for name, s in coders.statuses(run_id).items() if name not in ("double", "driver")]
        assert sum(status in ("ready", "queued", "running") for status in now) <= 3
    run = coders.finish(run_id)
    assert run["output"] == [[2 * n for n in range(7)], 200]


def test_code_workflows_are_registered_once_a_version(coders: Coders) -> None:
    with coders.db.transaction() as conn:
        count = "SELECT count(*) FROM workflow_revisions v JOIN workflows w ON w.id = v.workflow_id WHERE w.name = 'v'"
        for version, revisions in (("1", 1), ("1", 1), ("2", 2)):
            coders.know(lambda ctx, input: None, "v", version=version)
            assert conn.exec_driver_sql(count).scalar() == revisions
