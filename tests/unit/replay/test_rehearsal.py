"""Code-first workflows run by `orchestrator.testing`, with no server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orchestrator import ChildCanceled, ChildFailed, Fail, RetryPolicy, testing, workflow
from orchestrator.errors import InvalidInput, OrchestratorError

NOON = datetime(2026, 12, 24, 12, tzinfo=UTC)


def test_sleeps_are_skipped_and_the_function_sees_the_time_move() -> None:
    def work(ctx: Any, input: Any) -> list[str]:
        seen = [ctx.now()]
        ctx.sleep(3600)
        seen.append(ctx.now())
        ctx.sleep(datetime(2026, 12, 25, tzinfo=UTC))
        ctx.step("slow", lambda: testing.sleep(90))
        return [at.isoformat() for at in [*seen, ctx.now()]]

    result = testing.run(work, at=NOON)

    assert result.output == [
        "2026-12-24T12:00:00+00:00",
        "2026-12-24T13:00:00+00:00",
        "2026-12-25T00:01:30+00:00",
    ]
    assert result.sleeps == (timedelta(hours=1), timedelta(hours=11))
    assert result.duration == timedelta(hours=12, seconds=90)


def test_calls_go_on_beside_each_other_as_many_at_a_time_as_the_map_says() -> None:
    def work(ctx: Any, input: Any) -> Any:
        return ctx.map("square", [1, 2, 3, 4], concurrency=input)

    def square(item: int) -> int:
        testing.sleep(10)
        return item * item

    for most, seconds in ((1, 40), (2, 20), (None, 10)):
        result = testing.run(work, most, {"square": square}) if most else testing.run(_all, None, {"square": square})
        assert (result.output, result.duration) == ([1, 4, 9, 16], timedelta(seconds=seconds))


def _all(ctx: Any, input: Any) -> Any:
    return ctx.map("square", [1, 2, 3, 4])


def test_retries_timeouts_and_the_functions_own_retry_are_as_on_a_worker() -> None:
    tries: list[int] = []

    def flaky(ctx: Any) -> int:
        tries.append(ctx.attempt)
        if ctx.attempt < 3:
            testing.sleep(100)
        return ctx.attempt

    @workflow(name="rehearsed-retries", retry=RetryPolicy(max_attempts=2, delay=7))
    def work(ctx: Any, input: Any) -> Any:
        found = ctx.call("flaky", retry=RetryPolicy(max_attempts=3, delay=60), timeout=30)
        if ctx.attempt == 1:
            raise ConnectionError("the function itself")
        return found

    result = testing.run(work, functions={"flaky": flaky})

    assert (result.output, tries) == (3, [1, 2, 3])
    assert result.duration == timedelta(seconds=30 + 60 + 30 + 60 + 7)


def test_events_come_at_their_time_or_too_late_and_what_waits_for_ever_is_named() -> None:
    def work(ctx: Any, input: Any) -> Any:
        first = ctx.wait_event("paid", timeout=60, default="nothing")
        return [first, ctx.wait_event("sent", schema={"type": "integer"})]

    sent = testing.signal("sent", 1, after=timedelta(minutes=2))
    assert testing.run(work, during=[sent]).output == ["nothing", 1]
    assert testing.run(work, signals={"paid": 5, "sent": 2}).output == [5, 2]
    with pytest.raises(InvalidInput, match="event 'sent' does not fit"):
        testing.run(work, signals={"paid": 5, "sent": "two"})
    with pytest.raises(testing.Stuck, match=r"waits for event 'sent' \(test_rehearsal.py:\d+\)"):
        testing.run(work)


def test_children_are_functions_or_what_the_test_gives() -> None:
    def halved(ctx: Any, input: Any) -> Any:
        ctx.sleep(30)
        return input["n"] / 2

    def work(ctx: Any, input: Any) -> Any:
        return ctx.gather(*(ctx.spawn_child(name, {"n": 8}) for name in ("halved", "given")))

    result = testing.run(work, workflows=[halved], children={"given": lambda input: input["n"]})

    assert result.output == [4.0, 8]
    assert {(child.workflow, child.status) for child in result.children} == {
        ("halved", "succeeded"),
        ("given", "succeeded"),
    }


def test_a_childs_failure_and_cancel_reach_its_parent_and_a_finished_one_is_attached_to() -> None:
    def broken(ctx: Any, input: Any) -> None:
        raise Fail("no")

    def endless(ctx: Any, input: Any) -> None:
        ctx.wait_event("never")

    def listening(ctx: Any, input: Any) -> Any:
        return ctx.wait_event("told")

    def work(ctx: Any, input: Any) -> Any:
        with pytest.raises(ChildFailed, match="broken: Fail: no"):
            ctx.await_child(ctx.spawn_child("broken"))
        child = ctx.spawn_child("endless")
        ctx.sleep(1)
        ctx.cancel_child(child)
        with pytest.raises(ChildCanceled):
            ctx.await_child(child)
        first, again = (ctx.await_child(ctx.spawn_child("listening", child_id="one")) for _ in range(2))
        return [first, again]

    told = testing.signal("told", 5, after=10, to="one")
    result = testing.run(work, workflows=[broken, endless, listening], during=[told])
    assert (result.output, result.duration) == ([5, 5], timedelta(seconds=10))
    assert [child.status for child in result.children] == ["failed", "canceled", "succeeded", "succeeded"]
    with pytest.raises(testing.Stuck, match="no child 'two'"):
        testing.run(work, workflows=[broken, endless, listening], during=[testing.signal("told", to="two")])


def test_a_cancel_ends_the_run_and_what_it_has_begun() -> None:
    def work(ctx: Any, input: Any) -> None:
        ctx.set_progress({"done": 1, "total": 2})
        ctx.spawn_child("endless")
        ctx.sleep(100)

    def endless(ctx: Any, input: Any) -> None:
        ctx.wait_event("never")

    result = testing.run(work, workflows=[endless], during=[testing.cancel(after=10)])

    assert (result.status, result.duration) == ("canceled", timedelta(seconds=10))
    assert [child.status for child in result.children] == ["canceled"]
    assert [entry["status"] for entry in result.history["entries"]] == ["canceled", "canceled"]
    assert result.progress == ({"done": 1, "total": 2},)


def test_a_run_that_goes_on_anew_keeps_its_last_generation_and_its_events() -> None:
    def work(ctx: Any, input: Any) -> Any:
        ctx.step("count", lambda: None)
        if input["left"]:
            ctx.continue_as_new({"left": input["left"] - 1})
        return [ctx.generation, ctx.wait_event("last")]

    result = testing.run(work, {"left": 3}, signals={"last": "kept"})

    assert (result.output, result.generations, len(result.calls)) == ([3, "kept"], 4, 4)
    assert result.history["input"] == {"left": 0}
    assert [entry["key"] for entry in result.history["entries"]] == ["count", "last"]


def test_schemas_and_the_timeout_of_the_run_hold() -> None:
    @workflow(name="rehearsed-strict", timeout=60, output_schema={"type": "string"})
    def work(ctx: Any, input: Any) -> Any:
        ctx.sleep(input["seconds"])
        return 1

    errors = [testing.run(work, {"seconds": seconds}).error for seconds in (5, 100)]
    assert [error and error["type"] for error in errors] == ["OutputSchemaError", "DeadlineExceeded"]


def test_what_a_test_has_forgotten_is_named() -> None:
    def asks(verb: Callable[[Any], Any]) -> None:
        testing.run(lambda ctx, input: verb(ctx))

    with pytest.raises(OrchestratorError, match="function 'ship.labl' is not known here"):
        asks(lambda ctx: ctx.call("ship.labl"))
    with pytest.raises(OrchestratorError, match="workflow 'notfy' is not known here.*`children`"):
        asks(lambda ctx: ctx.await_child(ctx.spawn_child("notfy")))
    with pytest.raises(OrchestratorError, match="orchestrator.testing"):
        testing.sleep(1)


def test_a_failed_run_shows_where() -> None:
    def work(ctx: Any, input: Any) -> None:
        ctx.step("fine", lambda: 1)
        raise KeyError("amount")

    result = testing.run(work)

    assert result.error == {"type": "KeyError", "message": "'amount'", "step": "driver"}
    assert 'raise KeyError("amount")' in (result.traceback or "")
