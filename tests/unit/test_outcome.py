"""What follows from an attempt's end: the verdict table (docs/definition.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.domain.definition import Backoff, OnLost, Retry, Step, StepKind
from orchestrator.domain.outcome import Again, AttemptFacts, End, ErrorInfo, Outcome, OutcomeKind, Verdict, verdict
from orchestrator.domain.states import Reason, StepStatus

STEP = Step(name="s", kind=StepKind.FUNCTION, function="f")
ERROR = ErrorInfo("KeyError", "'x'", classes=("KeyError", "LookupError", "Exception"))
FACTS = AttemptFacts(attempt=1, max_attempts=3, lost_count=0, max_lost=3)


def after(outcome: Outcome, facts: AttemptFacts = FACTS, step: Step = STEP) -> Verdict:
    return verdict(step, facts, outcome, 0.5)


def retrying(**options: object) -> Step:
    return replace(STEP, retry=Retry(max_attempts=3, **options))  # type: ignore[arg-type]


def test_a_success_ends_the_step() -> None:
    assert after(Outcome.succeeded(1, "1")) == End(StepStatus.SUCCEEDED)


def test_a_success_ends_the_step_even_when_a_cancel_was_asked_for() -> None:
    assert after(Outcome.succeeded(1, "1"), replace(FACTS, cancel_requested=True)) == End(StepStatus.SUCCEEDED)


def test_skip_ends_the_step_as_skipped_by_its_function() -> None:
    outcome = Outcome(OutcomeKind.SKIPPED, error=ERROR)
    assert after(outcome) == End(StepStatus.SKIPPED, Reason.FUNCTION, ERROR)


def test_a_canceled_attempt_ends_the_step_as_canceled() -> None:
    assert after(Outcome(OutcomeKind.CANCELED, error=ERROR)) == End(StepStatus.CANCELED, Reason.CANCELED, ERROR)


def test_an_attempt_that_ends_as_canceled_has_failed_unless_that_was_asked_for() -> None:
    canceled = Outcome(OutcomeKind.CANCELED, error=ERROR)
    assert canceled.as_asked(cancel_requested=True) == canceled
    assert canceled.as_asked(cancel_requested=False) == Outcome.failed(ERROR)
    success = Outcome.succeeded(1, "1")
    assert success.as_asked(cancel_requested=False) == success


def test_a_failure_with_attempts_left_runs_again() -> None:
    assert after(Outcome.failed(ERROR), step=retrying(delay=7)) == Again(7, ERROR)


def test_the_wait_follows_the_number_of_the_attempt() -> None:
    step = retrying(delay=7, backoff=Backoff.LINEAR)
    assert after(Outcome.failed(ERROR), replace(FACTS, attempt=2), step) == Again(14, ERROR)


def test_the_last_failed_attempt_fails_the_step() -> None:
    assert after(Outcome.failed(ERROR), replace(FACTS, attempt=3)) == End(StepStatus.FAILED, Reason.ERROR, ERROR)


@pytest.mark.parametrize(
    "facts",
    [
        replace(FACTS, cancel_requested=True),
        replace(FACTS, retry_wanted=False),
        replace(FACTS, max_attempts=1),
    ],
    ids=["a cancel was asked for", "retry.while said no", "there is one attempt only"],
)
def test_a_failure_is_final_when(facts: AttemptFacts) -> None:
    assert after(Outcome.failed(ERROR), facts) == End(StepStatus.FAILED, Reason.ERROR, ERROR)


def test_fail_is_final_whatever_attempts_are_left() -> None:
    assert after(Outcome.failed(ERROR, final=True)) == End(StepStatus.FAILED, Reason.ERROR, ERROR)


def test_an_exception_in_abort_on_is_final() -> None:
    assert after(Outcome.failed(ERROR), step=retrying(abort_on=("LookupError",))) == End(
        StepStatus.FAILED, Reason.ERROR, ERROR
    )


def test_an_exception_not_in_retry_on_is_final() -> None:
    assert isinstance(after(Outcome.failed(ERROR), step=retrying(retry_on=("OSError",))), End)


def test_a_timeout_is_tried_again_like_any_failure() -> None:
    follows = after(Outcome.timed_out(5), step=retrying(delay=1))
    assert isinstance(follows, Again)
    assert follows.delay == 1


def test_a_last_attempt_that_timed_out_says_so() -> None:
    follows = after(Outcome.timed_out(5), replace(FACTS, attempt=3))
    assert isinstance(follows, End)
    assert (follows.status, follows.reason) == (StepStatus.FAILED, Reason.TIMEOUT)
    assert follows.error is not None
    assert "5 s" in follows.error.message


@pytest.mark.parametrize("name", ["Timeout", "TimeoutError"])
def test_a_timeout_can_be_named_in_retry_on(name: str) -> None:
    assert isinstance(after(Outcome.timed_out(5), step=retrying(retry_on=(name,))), Again)


def test_retry_later_waits_as_long_as_it_says() -> None:
    outcome = Outcome(OutcomeKind.RETRY_LATER, error=ERROR, retry_after=99)
    assert after(outcome, step=retrying(delay=7)) == Again(99, ERROR)


def test_retry_later_of_nothing_waits_nothing() -> None:
    outcome = Outcome(OutcomeKind.RETRY_LATER, error=ERROR, retry_after=0)
    assert after(outcome, step=retrying(delay=7)) == Again(0, ERROR)


def test_retry_later_without_a_time_waits_the_steps_delay() -> None:
    assert after(Outcome(OutcomeKind.RETRY_LATER, error=ERROR), step=retrying(delay=7)) == Again(7, ERROR)


def test_no_attempt_begins_past_total_timeout() -> None:
    for left in (7.0, 6.9, 0.0, -1.0):
        follows = after(Outcome.failed(ERROR), replace(FACTS, total_seconds_left=left), retrying(delay=7))
        assert isinstance(follows, End)
        assert (follows.status, follows.reason) == (StepStatus.FAILED, Reason.TOTAL_TIMEOUT)
        assert follows.error is not None
        assert "KeyError" in follows.error.message  # what the last attempt said is not lost


def test_an_attempt_cut_short_by_total_timeout_says_so() -> None:
    follows = after(Outcome.timed_out(5), replace(FACTS, attempt=3, total_seconds_left=0.0))
    assert isinstance(follows, End)
    assert follows.reason is Reason.TOTAL_TIMEOUT


def test_an_attempt_that_fits_in_total_timeout_is_made() -> None:
    assert after(Outcome.failed(ERROR), replace(FACTS, total_seconds_left=7.1), retrying(delay=7)) == Again(7, ERROR)


def test_a_lost_attempt_runs_again_at_once_and_uses_up_none() -> None:
    lost = Outcome.lost("gone")
    assert after(lost, replace(FACTS, attempt=3, lost_count=1)) == Again(0, lost.error)


def test_a_step_lost_too_often_is_poison_and_says_so() -> None:
    follows = after(Outcome.lost("gone"), replace(FACTS, lost_count=3))
    assert isinstance(follows, End)
    assert (follows.status, follows.reason) == (StepStatus.FAILED, Reason.POISON)
    assert follows.error is not None
    assert "3 times" in follows.error.message


def test_a_step_that_may_not_run_twice_fails_when_it_is_lost() -> None:
    lost = Outcome.lost("gone")
    follows = after(lost, replace(FACTS, lost_count=1), replace(STEP, on_lost=OnLost.FAIL))
    assert follows == End(StepStatus.FAILED, Reason.LOST, lost.error)


def test_a_lost_attempt_of_a_canceled_run_is_not_run_again() -> None:
    lost = Outcome.lost("gone")
    follows = after(lost, replace(FACTS, lost_count=1, cancel_requested=True))
    assert follows == End(StepStatus.CANCELED, Reason.CANCELED, lost.error)


def test_a_lost_attempt_past_total_timeout_is_not_run_again() -> None:
    follows = after(Outcome.lost("gone"), replace(FACTS, lost_count=1, total_seconds_left=0.0))
    assert isinstance(follows, End)
    assert follows.reason is Reason.TOTAL_TIMEOUT


def test_an_error_is_shown_with_its_traceback_only_where_it_has_one() -> None:
    assert ERROR.as_json() == {"type": "KeyError", "message": "'x'"}
    assert replace(ERROR, traceback="...").as_json() == {"type": "KeyError", "message": "'x'", "traceback": "..."}
