"""What counts as handled: `on_error`, and a started step with an `on: failure` edge."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import testing
from tests.documents import FUNCTIONS, document, on, step

FAILING = step("a", function="fail")
WITH_HANDLER = step("b", depends_on=[on("a", "failure")])


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ([FAILING], "failed"),
        ([FAILING | {"on_error": "ignore"}], "succeeded"),
        ([FAILING | {"on_error": "continue"}], "succeeded"),
        ([FAILING | {"on_error": "abort"}], "failed"),
        ([FAILING, WITH_HANDLER], "succeeded"),
        ([FAILING, WITH_HANDLER | {"when": "false"}], "failed"),
        ([FAILING, step("b", depends_on=[on("a", "complete")])], "failed"),
        ([FAILING, step("b", "a", trigger_rule="all_done")], "failed"),
        ([FAILING, step("b", "a", trigger_rule="one_failed")], "failed"),
        ([FAILING, {"name": "b", "pass": True, "depends_on": [on("a", "failure")]}], "succeeded"),
        ([FAILING, WITH_HANDLER | {"function": "fail"}], "failed"),
        ([FAILING, WITH_HANDLER | {"function": "fail", "on_error": "ignore"}], "succeeded"),
    ],
    ids=[
        "nothing handles it",
        "ignored",
        "gone on from",
        "aborts",
        "a failure handler runs",
        "a failure handler is skipped",
        "a completion edge hides nothing",
        "all_done hides nothing",
        "one_failed hides nothing",
        "a failure handler that does nothing",
        "a failure handler fails",
        "a failure handler fails and is ignored",
    ],
)
def test_the_run_ends(steps: list[dict[str, Any]], status: str) -> None:
    assert testing.run(document(*steps), None, FUNCTIONS).status == status


def test_the_runs_error_is_that_of_the_first_unhandled_failure() -> None:
    made = document(
        step("ignored", function="fail", input={"message": "one"}, on_error="ignore"),
        step("first", "ignored", function="fail", input={"message": "two"}, trigger_rule="all_done"),
        step("second", "first", function="fail", input={"message": "three"}, trigger_rule="all_done"),
    )
    result = testing.run(made, None, FUNCTIONS)
    assert result.error == {"type": "RuntimeError", "message": "two", "step": "first"}


def test_a_failure_ignored_is_still_a_failure_for_its_dependants() -> None:
    made = document(FAILING | {"on_error": "ignore"}, step("b", "a"), step("c", depends_on=[on("a", "failure")]))
    steps = testing.run(made, None, FUNCTIONS).steps
    assert (steps["b"].status, steps["c"].status) == ("upstream_failed", "succeeded")


def test_a_failure_gone_on_from_satisfies_success_and_failure_edges() -> None:
    made = document(FAILING | {"on_error": "continue"}, step("b", "a"), step("c", depends_on=[on("a", "failure")]))
    steps = testing.run(made, None, FUNCTIONS).steps
    assert (steps["b"].status, steps["c"].status) == ("succeeded", "succeeded")
