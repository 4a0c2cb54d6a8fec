"""What an exception of a function means for its attempt, whatever its class makes of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.domain.outcome import Outcome
from orchestrator.errors import AttemptTimeout, Fail, RetryLater, Skip
from orchestrator.services.perform import outcome_of


class Faceless(Exception):
    @property
    def __class__(self) -> Any:
        raise RuntimeError("nobody")

    @__class__.setter
    def __class__(self, value: Any) -> None: ...


class Hurried(RetryLater):
    def __init__(self) -> None:
        Exception.__init__(self, "soon")


class Unsure(RetryLater):
    def __init__(self) -> None:
        Exception.__init__(self, "soon")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Odd(float):
    def __float__(self) -> float:
        raise ValueError("no number")


def told(outcome: Outcome) -> tuple[str, str, float | None, bool]:
    assert outcome.error is not None
    return outcome.kind, outcome.error.type, outcome.retry_after, outcome.final


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (Faceless, ("failed", "Faceless", None, False)),
        (Hurried, ("retry_later", "Hurried", None, False)),
        (Unsure, ("retry_later", "Unsure", None, False)),
        (lambda: RetryLater(after=Odd(3)), ("retry_later", "RetryLater", None, False)),
        (lambda: RetryLater(after=True), ("retry_later", "RetryLater", None, False)),
        (lambda: RetryLater(after=float("nan")), ("retry_later", "RetryLater", None, False)),
        (lambda: RetryLater(after=2), ("retry_later", "RetryLater", 2.0, False)),
        (lambda: Skip("no"), ("skipped", "Skip", None, False)),
        (lambda: Fail("no"), ("failed", "Fail", None, True)),
        (lambda: AttemptTimeout("late"), ("failed", "AttemptTimeout", None, False)),
    ],
    ids=lambda case: case[1] if isinstance(case, tuple) else "",
)
def test_an_exception_ends_the_attempt_as_its_true_class_says(
    make: Callable[[], BaseException], expected: tuple[str, str, float | None, bool]
) -> None:
    assert told(outcome_of(make(), None)) == expected


def test_the_end_at_a_timeout_is_told_with_its_seconds() -> None:
    assert outcome_of(AttemptTimeout("late"), 3.0) == Outcome.timed_out(3.0)
