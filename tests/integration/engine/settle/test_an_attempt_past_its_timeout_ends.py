"""`timeout` of one attempt, `total_timeout` of all attempts with their waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchestrator import testing
from tests.documents import document, step


def slow(seconds: float = 100) -> str:
    testing.sleep(seconds)
    return "done"


def failing() -> None:
    raise RuntimeError("no luck")


FUNCTIONS: dict[str, Callable[..., Any]] = {"slow": slow, "fail": failing}


def test_an_attempt_within_its_timeout_goes_on() -> None:
    assert testing.run(document(step("a", function="slow", timeout=101)), None, FUNCTIONS).output == {"a": "done"}


def test_an_attempt_past_its_timeout_fails_the_step() -> None:
    result = testing.run(document(step("a", function="slow", timeout=30)), None, FUNCTIONS)
    a = result.steps["a"]
    assert (result.status, a.status, a.reason) == ("failed", "failed", "timeout")
    assert a.error is not None
    assert "30 s" in a.error["message"]
    assert 30 <= result.duration.total_seconds() < 100


def test_an_attempt_past_its_timeout_is_tried_again() -> None:
    retry = {"max_attempts": 3, "delay": 5}
    result = testing.run(document(step("a", function="slow", timeout=30, retry=retry)), None, FUNCTIONS)
    assert [entry["outcome"] for entry in result.steps["a"].history] == ["timed_out"] * 3
    assert 100 <= result.duration.total_seconds() < 101


def test_a_timeout_may_be_a_template() -> None:
    made = document(step("a", function="slow", timeout="{{ input.patience }}"))
    assert testing.run(made, {"patience": 200}, FUNCTIONS).status == "succeeded"
    assert testing.run(made, {"patience": 20}, FUNCTIONS).steps["a"].reason == "timeout"


def test_total_timeout_holds_all_attempts_with_their_waits() -> None:
    retry = {"max_attempts": 100, "delay": 10}
    result = testing.run(document(step("a", function="fail", total_timeout=35, retry=retry)), None, FUNCTIONS)
    a = result.steps["a"]
    assert (a.status, a.reason, a.attempts) == ("failed", "total_timeout", 4)
    assert a.error is not None
    assert "no luck" in a.error["message"]


def test_total_timeout_cuts_an_attempt_short() -> None:
    result = testing.run(document(step("a", function="slow", total_timeout=35)), None, FUNCTIONS)
    assert (result.steps["a"].status, result.steps["a"].reason) == ("failed", "total_timeout")
