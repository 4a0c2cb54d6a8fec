"""How long a step waits before its next attempt, and whether there is one (docs/definition.md)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.definition import Backoff, Retry
from orchestrator.domain.retry import delay_after, retryable

_MIDDLE = 0.5  # the spread that leaves a wait where it is


@pytest.mark.parametrize(
    ("backoff", "waits"),
    [
        (Backoff.CONSTANT, [3, 3, 3, 3]),
        (Backoff.LINEAR, [3, 6, 9, 12]),
        (Backoff.EXPONENTIAL, [3, 6, 12, 24]),
    ],
)
def test_each_backoff_grows_as_it_says(backoff: Backoff, waits: list[float]) -> None:
    retry = Retry(delay=3, backoff=backoff)
    assert [delay_after(retry, attempt, _MIDDLE) for attempt in (1, 2, 3, 4)] == waits


def test_the_factor_of_exponential_backoff_can_be_set() -> None:
    retry = Retry(delay=2, backoff=Backoff.EXPONENTIAL, factor=10)
    assert [delay_after(retry, attempt, _MIDDLE) for attempt in (1, 2, 3)] == [2, 20, 200]


@pytest.mark.parametrize("backoff", Backoff)
def test_max_delay_caps_every_backoff(backoff: Backoff) -> None:
    assert delay_after(Retry(delay=4, backoff=backoff, max_delay=4.5), 50, _MIDDLE) == min(
        4.5, 4 if backoff is Backoff.CONSTANT else 4.5
    )


def test_without_a_delay_the_next_attempt_is_at_once() -> None:
    for backoff in Backoff:
        assert delay_after(Retry(backoff=backoff), 3, 0.9) == 0


def test_jitter_is_spread_over_both_sides_of_the_wait() -> None:
    retry = Retry(delay=10, jitter=0.25)
    assert delay_after(retry, 1, 0) == 7.5
    assert delay_after(retry, 1, _MIDDLE) == 10
    assert delay_after(retry, 1, math.nextafter(1, 0)) == pytest.approx(12.5)


def test_a_power_past_every_number_is_still_a_wait() -> None:
    assert math.isfinite(delay_after(Retry(delay=1, backoff=Backoff.EXPONENTIAL, factor=10), 10_000, _MIDDLE))
    assert delay_after(Retry(delay=0, backoff=Backoff.EXPONENTIAL, factor=10), 10_000, _MIDDLE) == 0


@given(
    backoff=st.sampled_from(Backoff),
    delay=st.floats(0, 1e6),
    factor=st.floats(1, 100),
    jitter=st.floats(0, 1),
    cap=st.none() | st.floats(0, 1e7),
    attempt=st.integers(1, 500),
    spread=st.floats(0, 1, exclude_max=True),
)
def test_every_wait_is_finite_and_within_its_jitter(
    backoff: Backoff, delay: float, factor: float, jitter: float, cap: float | None, attempt: int, spread: float
) -> None:
    plain = delay_after(Retry(delay=delay, backoff=backoff, factor=factor, max_delay=cap), attempt, spread)
    retry = Retry(delay=delay, backoff=backoff, factor=factor, max_delay=cap, jitter=jitter)
    wait = delay_after(retry, attempt, spread)
    assert math.isfinite(wait)
    assert cap is None or plain <= cap
    slack = 1e-9 * plain
    assert max(0, plain * (1 - jitter)) - slack <= wait <= plain * (1 + jitter) + slack


@given(st.floats(0.001, 1e3), st.sampled_from((Backoff.LINEAR, Backoff.EXPONENTIAL)), st.integers(1, 60))
def test_waits_never_shrink_from_one_attempt_to_the_next(delay: float, backoff: Backoff, attempt: int) -> None:
    retry = Retry(delay=delay, backoff=backoff)
    assert delay_after(retry, attempt, _MIDDLE) <= delay_after(retry, attempt + 1, _MIDDLE)


def test_every_exception_may_be_retried_unless_something_is_said() -> None:
    assert retryable(Retry(), ("ValueError", "Exception"))
    assert retryable(Retry(), ())


def test_retry_on_matches_the_class_and_its_bases() -> None:
    retry = Retry(retry_on=("OSError",))
    assert retryable(retry, ("ConnectionResetError", "ConnectionError", "OSError", "Exception"))
    assert not retryable(retry, ("ValueError", "Exception"))


def test_abort_on_matches_the_class_and_its_bases() -> None:
    retry = Retry(abort_on=("LookupError",))
    assert not retryable(retry, ("KeyError", "LookupError", "Exception"))
    assert retryable(retry, ("ValueError", "Exception"))


def test_abort_on_wins_over_retry_on() -> None:
    retry = Retry(retry_on=("Exception",), abort_on=("KeyError",))
    assert not retryable(retry, ("KeyError", "LookupError", "Exception"))
    assert retryable(retry, ("IndexError", "LookupError", "Exception"))
