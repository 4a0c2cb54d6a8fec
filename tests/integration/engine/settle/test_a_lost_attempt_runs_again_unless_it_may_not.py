"""The worker died: `on_lost`, the poison cap, and attempts that do not count."""

from __future__ import annotations

from typing import Any

from orchestrator import testing
from orchestrator.domain.outcome import Outcome
from orchestrator.services.claim import claim
from orchestrator.services.dispatch import dispatch
from orchestrator.services.settle import settle
from orchestrator.store.transition import Lease
from orchestrator.testing import Sandbox, StepResult
from tests.documents import FUNCTIONS, document, step


def lose(box: Sandbox) -> None:
    (claimed,) = claim(box.engine, [box._waiting.popleft()], Lease("w", 15))
    dispatch(box.engine, settle(box.engine, claimed, Outcome.lost("killed")).queues)


def lost(times: int, **keys: Any) -> StepResult:
    """A step whose worker dies so often, and is then left to run."""
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a", **keys)))
        for _ in range(times):
            lose(box)
        box.drive(run_id)
        return box.result(run_id).steps["a"]


def test_a_lost_attempt_is_run_again_and_uses_up_no_attempt() -> None:
    a = lost(2)
    assert (a.status, a.attempts) == ("succeeded", 3)
    assert [entry["outcome"] for entry in a.history] == ["lost", "lost", "succeeded"]


def test_failures_after_a_loss_still_have_all_their_attempts() -> None:
    a = lost(2, function="fail", retry={"max_attempts": 2})
    assert [entry["outcome"] for entry in a.history] == ["lost", "lost", "failed", "failed"]


def test_a_step_lost_too_often_fails_as_poison_and_says_so() -> None:
    a = lost(3)
    assert (a.status, a.reason, a.attempts) == ("failed", "poison", 3)
    assert a.error is not None
    assert "3 times" in a.error["message"]


def test_a_step_that_may_not_run_twice_fails_when_lost() -> None:
    a = lost(1, on_lost="fail", retry={"max_attempts": 5})
    assert (a.status, a.reason, a.attempts) == ("failed", "lost", 1)
    assert a.error is not None
    assert "killed" in a.error["message"]


def test_the_failure_of_a_lost_step_can_be_handled() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a", on_lost="fail", on_error="continue"), step("b", "a")))
        lose(box)
        box.drive(run_id)
        result = box.result(run_id)
    assert result.status == "succeeded"
    assert result.steps["b"].status == "succeeded"
