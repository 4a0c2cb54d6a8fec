"""`on_error: abort`, and `failure_mode` after a failure that nothing handles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, Row

from orchestrator import testing
from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.store import steps
from orchestrator.store.db import Database
from orchestrator.testing import RunResult
from tests.documents import FUNCTIONS, document, on, step
from tests.hands import SUCCESS, Hands

FAILURE = Outcome.failed(ErrorInfo("RuntimeError", "no luck", classes=("RuntimeError", "Exception")))


def ends(result: RunResult) -> dict[str, tuple[str, str | None]]:
    return {s.name: (s.status, s.reason) for s in result.steps.values()}


GRAPH = (
    step("bad", function="fail"),
    step("after bad", "bad"),
    step("beside"),
    step("after beside", "beside"),
)


def test_run_on_lets_independent_branches_go_on() -> None:
    result = testing.run(document(*GRAPH), None, FUNCTIONS)
    assert result.status == "failed"
    assert ends(result) == {
        "bad": ("failed", "error"),
        "after bad": ("upstream_failed", "upstream"),
        "beside": ("succeeded", None),
        "after beside": ("succeeded", None),
    }


@pytest.mark.parametrize(("mode", "reason"), [("drain", "drain"), ("cancel", "run_failed")])
def test_drain_and_cancel_keep_everything_else_from_starting(mode: str, reason: str) -> None:
    result = testing.run(document(*GRAPH, failure_mode=mode), None, FUNCTIONS)
    assert result.status == "failed"
    assert ends(result)["beside"] == ends(result)["after beside"] == ("canceled", reason)
    assert result.error == {"type": "RuntimeError", "message": "no luck", "step": "bad"}


def test_abort_stops_a_run_that_would_run_on() -> None:
    aborting = step("bad", function="fail", on_error="abort")
    result = testing.run(document(aborting, *GRAPH[1:]), None, FUNCTIONS)
    assert (result.status, ends(result)["beside"]) == ("failed", ("canceled", "abort"))
    assert result.error is not None
    assert result.error["step"] == "bad"


@pytest.mark.parametrize("handler", [{"pass": True}, {"function": "ok"}], ids=["at once", "by a worker"])
def test_abort_fails_the_run_though_a_step_would_handle_the_failure(handler: dict[str, Any]) -> None:
    aborting = step("bad", function="fail", on_error="abort")
    result = testing.run(
        document(aborting, {"name": "handler", "depends_on": [on("bad", "failure")]} | handler), None, FUNCTIONS
    )
    assert result.status == "failed"


@pytest.mark.parametrize("mode", ["drain", "cancel"])
@pytest.mark.parametrize(
    "handled",
    [
        {"on_error": "ignore"},
        {"on_error": "continue"},
        {"name": "bad"},
    ],
    ids=["ignored", "gone on from", "a handler runs"],
)
def test_a_handled_failure_stops_nothing(mode: str, handled: dict[str, Any]) -> None:
    bad = step("bad", function="fail") | handled
    made = document(bad, step("handler", depends_on=[on("bad", "failure")]), *GRAPH[2:], failure_mode=mode)
    result = testing.run(made, None, FUNCTIONS)
    assert result.status == "succeeded"
    assert {s.status for s in result.steps.values() if s.name != "bad"} == {"succeeded"}


@pytest.mark.parametrize("mode", ["drain", "cancel"])
def test_a_failure_whose_handler_turns_out_not_to_run_stops_the_run_then(mode: str) -> None:
    """The handler waits for `gate` too; only when that is skipped is the failure known to be unhandled."""
    made = document(
        step("bad", function="fail"),
        step("gate"),
        step("handler", depends_on=[on("bad", "failure"), on("gate", "success", "false")]),
        step("later", "gate"),
        step("last", "later"),
        failure_mode=mode,
    )
    result = testing.run(made, None, FUNCTIONS)
    assert result.status == "failed"
    assert result.steps["gate"].status == "succeeded"
    assert result.steps["last"].status == "canceled"


@pytest.mark.parametrize("mode", ["drain", "cancel"])
def test_the_error_of_a_stopped_run_is_not_one_that_was_handled(mode: str) -> None:
    made = document(
        step("ignored", function="fail", input={"message": "one"}, on_error="ignore"),
        step("bad", "ignored", function="fail", input={"message": "two"}, trigger_rule="all_done"),
        step("beside", "bad"),
        failure_mode=mode,
    )
    result = testing.run(made, None, FUNCTIONS)
    assert result.error == {"type": "RuntimeError", "message": "two", "step": "bad"}


@pytest.mark.parametrize(
    ("keys", "ended"),
    [
        ({"failure_mode": "run_on"}, ("succeeded", None)),
        ({"failure_mode": "drain"}, ("succeeded", None)),
        ({"failure_mode": "cancel"}, ("canceled", "run_failed")),
    ],
    ids=lambda keys: keys.get("failure_mode") if isinstance(keys, dict) else None,
)
def test_what_a_failure_does_to_a_running_step(db: Database, keys: dict[str, str], ended: tuple[str, str]) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("bad"), step("running"), step("after", "running"), **keys))
    bad, running = hands.claim()
    hands.settle(bad, FAILURE)
    late = hands.settle(running, SUCCESS)
    hands.work()
    steps = hands.steps(run_id)
    assert hands.status(run_id) == "failed"
    assert (steps["running"]["status"], steps["running"]["reason"]) == ended
    assert late.stale == (ended[0] == "canceled")
    assert steps["after"]["status"] == ("succeeded" if keys["failure_mode"] == "run_on" else "canceled")


def test_an_abort_cancels_running_steps(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("bad", on_error="abort"), step("running")))
    bad, running = hands.claim()
    hands.settle(bad, FAILURE)
    assert hands.status(run_id) == "failed"
    assert hands.settle(running, SUCCESS).stale
    assert hands.steps(run_id)["running"]["reason"] == "abort"


def test_a_drained_run_tries_nothing_again(db: Database) -> None:
    hands = Hands(db)
    retry = {"max_attempts": 5}
    run_id = hands.start(document(step("bad"), step("running", retry=retry), failure_mode="drain"))
    bad, running = hands.claim()
    hands.settle(bad, FAILURE)
    assert hands.status(run_id) == "running"
    hands.settle(running, FAILURE)
    assert hands.status(run_id) == "failed"
    assert hands.steps(run_id)["running"]["attempts"] == 1


def test_a_step_that_waits_for_its_next_attempt_does_not_have_it_in_a_drained_run(db: Database) -> None:
    hands = Hands(db)
    retry = {"max_attempts": 5, "delay": 3600}
    run_id = hands.start(document(step("bad"), step("waiting", retry=retry), failure_mode="drain"))
    bad, waiting = hands.claim()
    hands.settle(waiting, FAILURE)
    hands.settle(bad, FAILURE)
    assert hands.status(run_id) == "failed"
    assert (hands.steps(run_id)["waiting"]["status"], hands.steps(run_id)["waiting"]["reason"]) == ("canceled", "drain")


def test_an_end_asks_only_about_failures_that_it_may_have_made_final(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    load = steps.load_failed

    def load_failed(conn: Connection, run_id: str, positions: Sequence[int]) -> Sequence[Row[Any]]:
        asked.append(len(positions))
        return load(conn, run_id, positions)

    monkeypatch.setattr(steps, "load_failed", load_failed)
    pairs = [
        pair
        for i in range(10)
        for pair in (step(f"bad{i}", function="fail"), step(f"handler{i}", depends_on=[on(f"bad{i}", "failure")]))
    ]
    ignored = [step(f"ignored{i}", function="fail", on_error="ignore") for i in range(10)]
    result = testing.run(document(*pairs, *ignored, failure_mode="drain"), None, FUNCTIONS)
    assert result.status == "succeeded"
    assert asked[:-1] == [1] * 10
    assert len(asked) == 11, "the end of the run asks once about all"


@pytest.mark.parametrize(("mode", "reason"), [("drain", "drain"), ("cancel", "run_failed")])
def test_an_earlier_failure_stops_the_run_when_the_last_step_that_could_handle_it_does_not_run(
    mode: str, reason: str
) -> None:
    """The handler waits for `late`, too, and is passed over when that was skipped."""
    made = document(
        step("bad", function="fail"),
        step("first"),
        step("late", "first", when="false"),
        step("handler", depends_on=[on("bad", "failure"), on("late", "success")]),
        step("long", "first"),
        step("longer", "long"),
        failure_mode=mode,
    )
    result = testing.run(made, None, FUNCTIONS)
    assert result.status == "failed"
    assert ends(result)["longer"] == ("canceled", reason)
