"""The run's own deadline, by the database's clock."""

from __future__ import annotations

from orchestrator import testing
from orchestrator.services.coordinate import tick
from orchestrator.store.db import Database
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, document, step
from tests.hands import SUCCESS, Hands


def slow(seconds: float) -> None:
    testing.sleep(seconds)


def test_what_has_not_started_does_not_start_and_the_run_says_why() -> None:
    waiting = step("a", function="fail", retry={"max_attempts": 9, "delay": 100})
    handlers = {"on_failure": {"function": "ok", "input": {"why": "{{ run.error.message }}"}}}
    result = testing.run(document(waiting, step("b", "a"), timeout=150, **handlers), None, FUNCTIONS)
    assert result.status == "failed"
    assert {(s.status, s.reason) for s in result.steps.values() if s.name in "ab"} == {("canceled", "deadline")}
    assert result.error is not None
    assert (result.error["type"], result.error["step"]) == ("DeadlineExceeded", None)
    assert "150 s" in result.error["message"]
    assert result.steps["on_failure"].output == {"why": result.error["message"]}
    assert 150 <= result.duration.total_seconds() < 151


def test_a_running_attempt_is_fenced_off(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a"), timeout=0.001))
    (claimed,) = hands.claim()
    tick(hands.engine)
    assert hands.status(run_id) == "failed"
    assert hands.steps(run_id)["a"]["reason"] == "deadline"
    assert hands.settle(claimed, SUCCESS).stale


def test_a_run_in_time_is_left_alone() -> None:
    made = document(step("a", function="slow", input={"seconds": 100}), timeout=101)
    assert testing.run(made, None, {"slow": slow}).status == "succeeded"


def test_the_result_of_a_step_that_ends_past_the_deadline_before_anyone_looks_counts() -> None:
    """The deadline is the coordinator's to enforce; a step that ends in between is not undone."""
    made = document(step("a", function="slow", input={"seconds": 100}), step("b", "a", function="slow"), timeout=50)
    with testing.sandbox({"slow": slow}) as box:
        run_id = box.start(made)
        box.step()
        tick(box.engine)
        result = box.result(run_id)
    assert result.status == "failed"
    assert (result.steps["a"].status, result.steps["b"].reason) == ("succeeded", "deadline")


def test_a_handler_may_wait_past_the_runs_deadline_which_no_longer_counts() -> None:
    handler = {"function": "fail", "retry": {"max_attempts": 2, "delay": 3600}}
    looks: list[Sandbox] = []

    def look(box: Sandbox) -> None:
        looks.append(box)
        assert len(looks) < 50, "the clock creeps"

    result = testing.run(document(step("a"), timeout=100, on_success=handler), None, FUNCTIONS, check=look)
    assert result.status == "succeeded"
    assert result.steps["on_success"].attempts == 2
