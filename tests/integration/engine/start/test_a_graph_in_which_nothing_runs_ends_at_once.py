"""An empty graph of skipped or passed steps needs no worker."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import testing
from orchestrator.testing import RunResult
from tests.documents import FUNCTIONS, document, on, step


def ended_at_once(made: dict[str, Any]) -> RunResult:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(made)
        assert not box.step(), "a step was sent to a worker"
        return box.result(run_id)


def test_a_graph_of_steps_skipped_by_their_condition_succeeds() -> None:
    result = ended_at_once(document(step("a", when="false"), step("b", "a"), step("c", "b")))
    assert result.status == "succeeded"
    assert [(s.status, s.reason) for s in result.steps.values()] == [
        ("skipped", "condition"),
        ("skipped", "not_triggered"),
        ("skipped", "not_triggered"),
    ]
    assert result.output == {"c": None}


def test_a_graph_of_pass_steps_succeeds() -> None:
    result = ended_at_once(
        document(
            step("a", **{"pass": True}, input={"n": "{{ input.n | default(1) }}"}),
            step("b", "a", **{"pass": True}, input="{{ steps.a.output.n + 1 }}"),
        )
    )
    assert (result.status, result.output) == ("succeeded", {"b": 2})


def test_a_condition_that_cannot_be_evaluated_fails_the_run_at_once() -> None:
    result = ended_at_once(document(step("a", when="1 / 0"), step("b", "a")))
    assert result.status == "failed"
    assert (result.steps["a"].status, result.steps["a"].reason) == ("failed", "condition_error")
    assert result.steps["b"].status == "upstream_failed"
    assert result.error is not None
    assert result.error["step"] == "a"


def test_a_failure_at_the_start_can_be_handled() -> None:
    handled = step("b", depends_on=[on("a", "failure")], **{"pass": True})
    assert ended_at_once(document(step("a", when="1 / 0"), handled)).status == "succeeded"


@pytest.mark.parametrize("mode", ["run_on", "drain", "cancel"])
def test_a_failure_at_the_start_stops_the_run_as_its_failure_mode_says(mode: str) -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a", when="1 / 0"), step("b"), failure_mode=mode))
        box.drive(run_id)
        result = box.result(run_id)
    assert result.status == "failed"
    assert result.steps["b"].status == ("succeeded" if mode == "run_on" else "canceled")
