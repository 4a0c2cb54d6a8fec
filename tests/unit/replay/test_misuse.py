"""What a user writes by mistake is told in a sentence, where it is written."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from orchestrator.domain.definition import Retry
from orchestrator.errors import OrchestratorError, StepFailed, WorkflowMisuse
from orchestrator.functions import make_spec, make_workflow, workflow
from orchestrator.replay.journal import Suspended
from orchestrator.replay.play import Raised
from tests.replaying import Played


def _odd(**options: Any) -> Retry:
    return Retry(**options)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (lambda ctx: ctx.call("f", retry={"max_attempts": 3}), "`retry` must be a RetryPolicy, not a map"),
        (lambda ctx: ctx.call("f", retry=Retry(max_attempts=0)), "`retry.max_attempts` must be from 1"),
        (lambda ctx: ctx.call("f", retry=Retry(while_="1 +")), "`retry.while` "),
        (lambda ctx: ctx.step("s", str, retry=_odd(retry_on=ValueError)), "`retry.retry_on` must be a list"),
        (lambda ctx: ctx.call("f", [1]), "the `input` of a call must be a map, not a list"),
        (lambda ctx: ctx.call("f", timeout="10s"), "`timeout` must be a number of seconds"),
        (lambda ctx: ctx.call("f", timeout=timedelta(seconds=1)), "`timeout` must be a number of seconds"),
        (lambda ctx: ctx.call("f", priority=100_000), "`priority` must be from 0 to 9"),
        (lambda ctx: ctx.call("f", pool="p", slots="two"), "`slots` must be a whole number"),
        (lambda ctx: ctx.call("f", on_lost="explode"), "`on_lost` must be one of"),
        (lambda ctx: ctx.call(str), "`function` must be text"),
        (lambda ctx: ctx.map("f", [1], concurrency=10**12), "`concurrency` must be from 1"),
        (lambda ctx: ctx.map("f", [1], concurrency="2"), "`concurrency` must be a whole number"),
        (lambda ctx: ctx.spawn_child("w", child_id=5), "`child_id` must be text"),
        (lambda ctx: ctx.sleep(None), "sleep takes seconds or a datetime, not null"),
        (lambda ctx: ctx.sleep(timedelta(hours=1)), r"give its total_seconds\(\)"),
        (lambda ctx: ctx.wait_event("e", schema={"type": "nope"}), "`schema.type` must be"),
        (lambda ctx: ctx.wait_event("e", timeout="1d"), "`timeout` must be a number"),
        (lambda ctx: ctx.step("s", str(1)), "step 's' is given text, not what is to be called"),
    ],
)
def test_what_no_verb_can_do_is_told_where_it_is_asked_and_leaves_nothing(asked: Any, told: str) -> None:
    def work(ctx: Any, input: Any) -> Any:
        with pytest.raises(WorkflowMisuse, match=told):
            asked(ctx)
        return ctx.call("goes on")

    played = Played(work)
    assert played.finish(lambda entry: entry.key) == "goes on"
    assert [entry.key for entry in played.history.entries.values()] == ["goes on"]


def test_a_wait_without_time_only_looks_and_a_policy_says_while_what_it_tries_again() -> None:
    def broken() -> None:
        raise ValueError("no")

    def work(ctx: Any, input: Any) -> Any:
        with pytest.raises(StepFailed):
            ctx.step("once", broken, retry=Retry(max_attempts=9, delay=60, while_="error.type == 'OSError'"))
        return ctx.wait_event("e", timeout=-3)

    turn = Played(work).turn()
    assert isinstance(turn, Suspended)
    [waits] = turn.pending
    assert waits.body is not None
    assert 0 < waits.body["wait_for"]["timeout"] < 0.001


def test_an_error_that_cannot_be_shown_fails_the_run_under_its_own_name() -> None:
    class Shy(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def work(ctx: Any, input: Any) -> Any:
        raise Shy

    turn = Played(work).turn()
    assert isinstance(turn, Raised)
    assert turn.error["type"] == "Shy"


def test_code_that_raises_before_what_is_journaled_shows_where() -> None:
    def broken(ctx: Any, input: Any) -> Any:
        raise LookupError("not there")

    played = Played(lambda ctx, input: ctx.call("f"))
    played.turn()
    turn = played.turn(broken)
    assert isinstance(turn, Raised)
    assert turn.error["type"] == "CodeChanged"
    assert "LookupError: not there" in turn.error["traceback"]


def test_a_decorator_refuses_what_could_never_run() -> None:
    with pytest.raises(OrchestratorError, match=r"workflow 'w': its function is called with \(ctx, input\)"):
        make_workflow(lambda ctx: None, "w")
    with pytest.raises(OrchestratorError, match="workflow 'w': `retry` must be a RetryPolicy"):
        make_workflow(lambda ctx, input: None, "w", retry={"max_attempts": 3})
    with pytest.raises(OrchestratorError, match="function 'f': `timeout` must be a number"):
        make_spec(lambda: None, "f", timeout="3")
    with pytest.raises(OrchestratorError, match=r'write @workflow\(name="order"\)'):
        workflow("order")  # type: ignore[call-overload]
