"""Retries: how often, when, and of which failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from orchestrator import testing
from orchestrator.errors import Fail, RetryLater, Skip
from orchestrator.testing import RunResult, StepResult
from tests.documents import document, step


def raising(*errors: Exception | None) -> Callable[[], int]:
    """A function that raises these, one a call (None: it returns), and then returns."""
    left = list(errors)

    def call() -> int:
        error = left.pop(0) if left else None
        if error is not None:
            raise error
        return len(left)

    return call


def tried(errors: Sequence[Exception | None], **retry: Any) -> RunResult:
    return testing.run(document(step("a", function="f", retry=retry)), None, {"f": raising(*errors)})


def waits(a: StepResult) -> list[float]:
    """Seconds between the end of each attempt and the start of the next."""
    pairs = zip(a.history, a.history[1:], strict=False)
    return [
        round((_at(later["started_at"]) - _at(earlier["finished_at"])).total_seconds(), 3) for earlier, later in pairs
    ]


def _at(moment: Any) -> Any:
    return datetime.fromisoformat(moment) if isinstance(moment, str) else moment


@pytest.mark.parametrize(
    ("retry", "expected"),
    [
        ({"delay": 3}, [3, 3, 3]),
        ({"delay": 3, "backoff": "linear"}, [3, 6, 9]),
        ({"delay": 3, "backoff": "exponential"}, [3, 6, 12]),
        ({"delay": 3, "backoff": "exponential", "factor": 10, "max_delay": 100}, [3, 30, 100]),
        ({}, [0, 0, 0]),
    ],
    ids=["constant", "linear", "exponential", "capped", "at once"],
)
def test_the_waits_are_those_of_the_backoff_by_the_runs_clock(retry: dict[str, Any], expected: list[float]) -> None:
    result = tried([RuntimeError()] * 3, max_attempts=4, **retry)
    assert result.status == "succeeded"
    assert [entry["outcome"] for entry in result.steps["a"].history] == ["failed"] * 3 + ["succeeded"]
    assert [round(wait) for wait in waits(result.steps["a"])] == expected
    assert result.duration >= timedelta(seconds=sum(expected))


def test_jitter_moves_the_wait_within_its_bounds() -> None:
    for _ in range(20):
        (wait,) = waits(tried([RuntimeError()], max_attempts=2, delay=100, jitter=0.5).steps["a"])
        assert 50 <= wait <= 151


def test_the_last_attempts_failure_is_the_steps() -> None:
    result = tried([RuntimeError("one"), RuntimeError("two"), RuntimeError("three")], max_attempts=3)
    assert (result.status, result.steps["a"].reason, result.steps["a"].attempts) == ("failed", "error", 3)
    assert result.error == {"type": "RuntimeError", "message": "three", "step": "a"}


def test_only_what_retry_on_names_is_tried_again() -> None:
    assert tried([ConnectionResetError()], max_attempts=3, retry_on=["OSError"]).status == "succeeded"
    assert tried([ValueError()], max_attempts=3, retry_on=["OSError"]).steps["a"].attempts == 1


def test_what_abort_on_names_is_not_tried_again() -> None:
    assert tried([KeyError("x")], max_attempts=3, abort_on=["LookupError"]).steps["a"].attempts == 1
    assert tried([ValueError()], max_attempts=3, abort_on=["LookupError"]).status == "succeeded"


def test_while_decides_from_the_error_and_the_number_of_attempts() -> None:
    busy = [RuntimeError("busy"), RuntimeError("busy"), RuntimeError("busy")]
    assert tried(busy, max_attempts=9, **{"while": "error.message == 'busy'"}).status == "succeeded"
    assert (
        tried([RuntimeError("gone")], max_attempts=9, **{"while": "error.message == 'busy'"}).steps["a"].attempts == 1
    )
    assert tried(busy, max_attempts=9, **{"while": "attempt < 2"}).steps["a"].attempts == 2


def test_a_while_that_cannot_be_evaluated_is_told_with_the_failure() -> None:
    a = tried([RuntimeError("busy")], max_attempts=9, **{"while": "1 / 0"}).steps["a"]
    assert (a.status, a.attempts) == ("failed", 1)
    assert a.error is not None
    assert "busy" in a.error["message"]
    assert "retry.while" in a.error["message"]


def test_retry_later_waits_as_long_as_it_says() -> None:
    result = tried([RetryLater(after=500), RetryLater()], max_attempts=3, delay=7)
    assert [entry["outcome"] for entry in result.steps["a"].history] == ["retry_later", "retry_later", "succeeded"]
    assert [round(wait) for wait in waits(result.steps["a"])] == [500, 7]


def test_fail_is_not_tried_again() -> None:
    a = tried([Fail("the card is gone")], max_attempts=9).steps["a"]
    assert (a.status, a.reason, a.attempts) == ("failed", "error", 1)
    assert a.error is not None
    assert a.error["message"] == "the card is gone"


def test_skip_ends_the_step_as_skipped() -> None:
    result = testing.run(
        document(step("a", function="f"), step("b", "a", function="f")), None, {"f": raising(Skip("not today"))}
    )
    assert result.status == "succeeded"
    assert (result.steps["a"].status, result.steps["a"].reason) == ("skipped", "function")
    assert result.steps["b"].status == "skipped"
    assert result.steps["a"].error is not None
    assert result.steps["a"].error["message"] == "not today"


def test_the_idempotency_key_is_the_same_for_all_attempts_of_a_step_and_for_no_other() -> None:
    seen: list[tuple[str, int, str]] = []

    def note(ctx: Any) -> None:
        seen.append((ctx.step, ctx.attempt, ctx.idempotency_key))
        if ctx.attempt < 3:
            raise RuntimeError

    made = document(step("a", function="f"), step("b", function="f"), defaults={"retry": {"max_attempts": 3}})
    testing.run(made, None, {"f": note})
    assert {(name, attempt) for name, attempt, _ in seen} == {(n, a) for n in "ab" for a in (1, 2, 3)}
    assert len({key for _, _, key in seen}) == 2
    assert len({(name, key) for name, _, key in seen}) == 2
