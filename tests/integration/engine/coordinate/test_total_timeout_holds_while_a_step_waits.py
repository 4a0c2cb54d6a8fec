"""A step that waits for its next attempt, or for a worker, past its `total_timeout` fails."""

from __future__ import annotations

from datetime import timedelta

from orchestrator import testing
from orchestrator.services.coordinate import tick
from orchestrator.services.engine import Settings
from tests.documents import FUNCTIONS, document, on, step

RETRY = {"max_attempts": 2, "delay": 5}


def test_for_a_worker_that_does_not_come() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        made = document(
            step("a", function="fail", total_timeout=60, retry=RETRY, publish_on_failure={"why": "{{ error.type }}"}),
            step("handler", depends_on=[on("a", "failure")], input={"why": "{{ steps.a.error.type }}"}),
        )
        run_id = box.start(made)
        box.step()  # the first attempt, which begins the count
        box.clock.skip(timedelta(seconds=6))
        tick(box.engine)
        assert box.result(run_id).steps["a"].status == "queued"
        box._waiting.clear()
        box.clock.skip(timedelta(seconds=60))
        tick(box.engine)
        box.drive(run_id)
        result = box.result(run_id)
    assert (result.steps["a"].status, result.steps["a"].reason) == ("failed", "total_timeout")
    assert result.steps["handler"].output == {"why": "TotalTimeout"}
    assert result.status == "succeeded"
    assert result.vars == {"why": "TotalTimeout"}
    (failed,) = (event for event in result.events if event["kind"] == "step.failed")
    assert (failed["data"]["step"], failed["data"]["reason"]) == ("a", "total_timeout")


def test_the_wait_before_the_first_attempt_does_not_count() -> None:
    settings = Settings(resend=1e9)
    with testing.sandbox(FUNCTIONS, settings=settings) as box:
        run_id = box.start(document(step("a", total_timeout=60)))
        box.clock.skip(timedelta(seconds=600))
        tick(box.engine)
        box.drive(run_id)
        assert box.result(run_id).status == "succeeded"
