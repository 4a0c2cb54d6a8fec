"""A function replayed from a journal in memory."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.domain.definition import Retry
from orchestrator.errors import (
    ChildCanceled,
    ChildFailed,
    Fail,
    OrchestratorError,
    RetryLater,
    Skip,
    StepFailed,
    UnstorableValue,
    WaitTimeout,
    WorkflowMisuse,
)
from orchestrator.functions import make_workflow
from orchestrator.replay.journal import Continued, Suspended
from orchestrator.replay.play import Raised, Returned
from tests.replaying import Played


def test_a_step_is_done_once_and_gives_its_json_round_trip_each_time() -> None:
    done: list[int] = []

    def noted(number: int, value: Any) -> Any:
        done.append(number)
        return value

    def work(ctx: Any, input: Any) -> Any:
        pair = ctx.step("pair", noted, 1, (1, 2))
        ctx.sleep(5)
        return [pair, ctx.step("pair", noted, 2, value={"a": (3,)})]

    assert Played(work).finish() == [[1, 2], {"a": [3]}]
    assert done == [1, 2]


def test_what_a_function_changes_of_a_value_is_not_in_the_journal() -> None:
    def work(ctx: Any, input: Any) -> Any:
        input["seen"] = True
        rows = ctx.step("rows", lambda: [1])
        rows.append(2)
        ctx.call("f", {"rows": rows})
        return rows

    played = Played(work, {})
    assert played.finish() == [1, 2]
    assert played.history.input == {}
    assert played.history.ends[1].value == [1]


def test_a_call_suspends_until_it_has_ended_and_gives_its_output() -> None:
    def work(ctx: Any, input: Any) -> Any:
        return ctx.call("ship.label", {"order": input}, retry=Retry(max_attempts=5), queue="ships")

    played = Played(work, 7)
    turn = played.turn()
    assert isinstance(turn, Suspended)
    assert turn.awaited == (1,)
    (entry,) = played.waiting()
    assert entry.body is not None
    assert (entry.key, entry.body["input"], entry.body["queue"]) == ("ship.label", {"order": 7}, "ships")
    assert entry.body["retry"]["max_attempts"] == 5
    assert isinstance(played.turn(), Suspended)  # woken too early
    played.end("ship.label", {"id": 1})
    assert played.turn() == Returned({"id": 1}, '{"id":1}')


def test_repeated_names_have_ordinals_and_calls_begun_together_wait_together() -> None:
    def work(ctx: Any, input: Any) -> Any:
        first, second = ctx.start_call("f", {"n": 1}), ctx.start_call("f", {"n": 2})
        return ctx.gather(second, first)

    played = Played(work)
    turn = played.turn()
    assert isinstance(turn, Suspended)
    assert [entry.key for entry in turn.pending] == ["f", "f#2"]
    played.end("f#2", 2)
    again = played.turn()
    assert isinstance(again, Suspended)
    assert again.awaited == (1,)
    played.end("f", 1)
    assert played.turn() == Returned([2, 1], "[2,1]")


def test_no_two_steps_have_one_name() -> None:
    def work(ctx: Any, input: Any) -> Any:
        return ctx.gather(*[ctx.start_call(name) for name in ("driver", "f#2", "f", "f", "f")])

    assert Played(work).finish(lambda entry: entry.key) == ["driver#2", "f#2", "f", "f#3", "f#4"]


@pytest.mark.parametrize("value", [{"for": "time"}, {"status": "failed"}, {"suspended": True}, None, "Suspended"])
def test_a_result_that_looks_like_a_marker_is_delivered_as_it_is(value: Any) -> None:
    assert Played(lambda ctx, input: [ctx.step("s", lambda: value), ctx.call("f")]).finish(lambda _: value) == [
        value,
        value,
    ]


def test_failures_are_raised_alike_when_they_happen_and_when_they_are_replayed() -> None:
    def broken() -> None:
        raise KeyError("gone")

    def work(ctx: Any, input: Any) -> Any:
        told: list[Any] = []
        verbs: list[Callable[[], Any]] = [
            lambda: ctx.step("here", broken),
            lambda: ctx.call("there"),
            lambda: ctx.gather(*spawn(ctx)),
        ]
        for verb in verbs:
            try:
                verb()
            except StepFailed as error:
                told.append([type(error).__name__, error.step, error.type])
        try:
            ctx.wait_event("paid", timeout=5)
        except TimeoutError as error:
            told.append(str(error))
        return [*told, ctx.wait_event("late", timeout=5, default="none")]

    def spawn(ctx: Any) -> Any:
        return ctx.spawn_child("notify"), ctx.start_call("slow")

    played = Played(work)
    ends = {"there": "Boom", "notify": "Lost", "paid": "WaitTimeout", "late": "WaitTimeout"}
    while isinstance(turn := played.turn(), Suspended):
        for entry in played.waiting():
            played.end(entry.key, None, "failed" if entry.key in ends else "succeeded", ends.get(entry.key))
    assert isinstance(turn, Returned)
    assert turn.value == [
        ["StepFailed", "here", "KeyError"],
        ["StepFailed", "there", "Boom"],
        ["ChildFailed", "notify", "Lost"],
        "paid: WaitTimeout: told",
        "none",
    ]


def test_a_child_that_was_canceled_says_so() -> None:
    def work(ctx: Any, input: Any) -> Any:
        child = ctx.spawn_child("notify", {"to": 1}, child_id="n-1")
        ctx.cancel_child(child)
        with pytest.raises(ChildCanceled, match="notify: Canceled"):
            ctx.await_child(child)
        return "through"

    played = Played(work)
    played.turn()
    assert [entry.verb for entry in played.history.entries.values()] == ["child", "cancel"]
    played.end("notify", status="canceled")
    assert played.turn() == Returned("through", '"through"')
    assert issubclass(ChildFailed, StepFailed)


def test_a_map_begins_as_many_at_a_time_and_keeps_the_order() -> None:
    def work(ctx: Any, input: Any) -> Any:
        return ctx.map("square", [1, {"n": 2}, 3], concurrency=2, name="sq")

    played = Played(work)
    turn = played.turn()
    assert isinstance(turn, Suspended)
    bodies = [(entry.key, entry.turn, entry.body and entry.body["input"]) for entry in turn.pending]
    assert bodies == [("sq", 2, {"item": 1}), ("sq#2", 2, {"n": 2}), ("sq#3", 2, {"item": 3})]
    assert played.finish(lambda entry: entry.key) == ["sq", "sq#2", "sq#3"]


def test_a_failed_step_is_tried_again_as_its_policy_says_also_after_a_lost_worker() -> None:
    tries = []

    def flaky(ctx: Any) -> str:
        tries.append((ctx.attempt, ctx.idempotency_key))
        if len(tries) < 3:
            raise RuntimeError(f"try {len(tries)}")
        return "done"

    def work(ctx: Any, input: Any) -> Any:
        return ctx.step("flaky", flaky, retry=Retry(max_attempts=3, delay=60))

    played = Played(work)
    first = played.turn()
    assert isinstance(first, Suspended)
    assert (first.awaited, first.seconds) == ((), 60)
    assert isinstance(played.turn(), Suspended)
    assert played.turn() == Returned("done", '"done"')
    assert [number for number, _ in tries] == [1, 2, 3]
    assert len({key for _, key in tries}) == 1


def test_fail_skip_and_retry_later_mean_in_a_step_what_they_mean_in_functions() -> None:
    def raising(error: BaseException) -> Any:
        def call() -> None:
            raise error

        return call

    def work(ctx: Any, input: Any) -> Any:
        skipped = ctx.step("skipped", raising(Skip("not today")))
        with pytest.raises(StepFailed, match="never: Fail: no"):
            ctx.step("never", raising(Fail("no")), retry=Retry(max_attempts=9))
        ctx.step("later", raising(RetryLater(after=9)), retry=Retry(max_attempts=2))
        return skipped

    played = Played(work)
    turn = played.turn()
    assert isinstance(turn, Suspended)
    assert turn.seconds == 9
    assert played.history.ends[1].status == "skipped"


def test_time_and_chance_are_the_same_in_each_turn() -> None:
    seen = []

    def work(ctx: Any, input: Any) -> Any:
        seen.append((ctx.now(), ctx.random(), ctx.uuid(), ctx.random()))
        ctx.sleep(datetime(2030, 1, 1, tzinfo=UTC))
        return None

    Played(work).finish()
    assert seen[0] == seen[1]
    assert seen[0][1] != seen[0][3]


CHANGES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "renamed": (lambda ctx: (ctx.step("b", str), ctx.call("f")), "at entry 1 the journal has step 'a'"),
    "removed": (lambda ctx: ctx.call("f"), "at entry 1 the journal has step 'a'"),
    "added": (lambda ctx: (ctx.step("a", str), ctx.sleep(1), ctx.call("f")), "the code asks for sleep 'sleep'"),
    "reordered": (lambda ctx: (ctx.call("f"), ctx.step("a", str)), "the code asks for call 'f'"),
    "shortened": (lambda ctx: ctx.step("a", str), "at entry 2 the journal has call 'f'"),
    "made to fail": (lambda ctx: (ctx.step("a", str), 1 / 0), "raises ZeroDivisionError"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_code_is_found_with_its_first_difference_named(name: str) -> None:
    changed, told = CHANGES[name]
    played = Played(lambda ctx, input: (ctx.step("a", str), ctx.call("f")))
    played.turn()

    def swallowing(ctx: Any, input: Any) -> None:
        with suppress(Exception):  # a function that does so must not hide it
            changed(ctx)

    calls: list[Callable[..., Any]] = [lambda ctx, input: changed(ctx)]
    for call in calls if name == "made to fail" else [*calls, swallowing]:
        turn = played.turn(call)
        assert isinstance(turn, Raised)
        assert turn.final
        assert turn.error["type"] == "CodeChanged"
        assert told in turn.error["message"]
        assert "test_context.py:" in turn.error["message"]


def test_patched_lets_old_runs_finish_the_old_way_and_new_ones_the_new_way() -> None:
    def old(ctx: Any, input: Any) -> Any:
        first = ctx.call("a")
        return [first, ctx.call("b")]

    def new(ctx: Any, input: Any) -> Any:
        if ctx.patched("check"):
            ctx.call("check")
        first = ctx.call("a")
        return [first, ctx.call("b"), ctx.patched("check"), ctx.patched("end")]

    begun = Played(old)
    begun.turn()
    begun.call = new
    assert begun.finish() == [None, None, False, True]
    assert [entry.key for entry in begun.history.entries.values()] == ["a", "b", "end"]
    fresh = Played(new)
    assert fresh.finish() == [None, None, True, True]
    assert [entry.key for entry in fresh.history.entries.values()] == ["check", "check#2", "a", "b", "end"]


def test_a_swallowed_suspension_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    done = []

    def work(ctx: Any, input: Any) -> Any:
        try:
            return ctx.call("f")
        except BaseException:  # noqa: BLE001 - what must not corrupt the run
            done.append(1)
            try:
                ctx.step("cleanup", done.append, 2)
            finally:
                return "wrong"  # noqa: B012

    played = Played(work)
    with caplog.at_level(logging.WARNING):
        assert isinstance(played.turn(), Suspended)
    assert "caught what suspends it" in caplog.text
    assert (done, list(played.history.entries)) == ([1], [1])
    played.end("f", "right")
    assert played.turn() == Returned("right", '"right"')


def test_continue_as_new_takes_its_input_along_and_nothing_else() -> None:
    def work(ctx: Any, input: Any) -> Any:
        ctx.call("f")
        ctx.continue_as_new({"n": input["n"] + 1})

    played = Played(work, {"n": 1})
    played.turn()
    played.end("f")
    turn = played.turn()
    assert isinstance(turn, Continued)
    assert turn.input == {"n": 2}


def test_misuse_is_told() -> None:
    kept: list[Any] = []
    faults: list[str] = []

    def told(call: Any) -> None:
        try:
            call()
        except WorkflowMisuse as error:
            faults.append(str(error))

    def work(ctx: Any, input: Any) -> Any:
        kept.append(ctx)
        thread = threading.Thread(target=told, args=[lambda: ctx.step("s", str)])
        thread.start()
        thread.join()
        ctx.step("outer", lambda: told(lambda: ctx.now()))
        told(lambda: ctx.step("", str))
        told(lambda: ctx.gather("f"))
        told(lambda: ctx.map("f", [], concurrency=0))
        ctx.start_call("left")
        told(lambda: ctx.continue_as_new(1))
        with pytest.raises(UnstorableValue, match=r"\$.input.when.*call 'f'"):
            ctx.call("f", {"when": datetime.now(UTC)})
        with pytest.raises(StepFailed, match="UnstorableValue"):
            ctx.step("set", lambda: {1})
        return {1, 2}

    turn = Played(work).turn()
    told(lambda: kept[0].now())
    assert isinstance(turn, Raised)
    assert "what it returned cannot be stored" in turn.error["message"]
    for part, fault in zip(
        (
            "own thread",
            "step 'outer' uses",
            "printable",
            "start_call",
            "concurrency",
            "left behind",
            "after its function",
        ),
        faults,
        strict=True,
    ):
        assert part in fault


async def _coroutine(ctx: Any, input: Any) -> None: ...


def test_async_functions_and_unknown_options_are_refused_at_once() -> None:
    with pytest.raises(OrchestratorError, match="async"):
        make_workflow(_coroutine, "w")
    with pytest.raises(OrchestratorError, match="no option 'queu'; did you mean 'queue'"):
        make_workflow(lambda ctx, input: None, "w", queu="q")


def test_the_log_does_not_repeat_itself(caplog: pytest.LogCaptureFixture) -> None:
    def work(ctx: Any, input: Any) -> Any:
        ctx.log.info("begins")
        ctx.call("f")
        ctx.log.info("ends")

    with caplog.at_level(logging.INFO):
        Played(work).finish()
    assert [record.message for record in caplog.records] == ["begins", "ends"]


def test_a_timed_out_wait_is_a_timeout_error() -> None:
    error = WaitTimeout("paid", "WaitTimeout", "no event came")
    assert isinstance(error, TimeoutError)
    assert str(error) == "paid: WaitTimeout: no event came"
