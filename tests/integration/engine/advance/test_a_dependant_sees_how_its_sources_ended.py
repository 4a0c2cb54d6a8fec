"""What the templates and conditions of a dependant read of the steps before it."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import testing
from tests.documents import FUNCTIONS, document, on, step


def test_the_output_of_a_source_is_its_json_value() -> None:
    made = document(
        step("a", input={"rows": [{"n": 1}, {"n": 2}]}),
        step("b", "a", input={"last": "{{ steps.a.output.rows[-1].n }}", "all": "{{ steps.a.output.rows }}"}),
    )
    assert testing.run(made, None, FUNCTIONS).output == {"b": {"last": 2, "all": [{"n": 1}, {"n": 2}]}}


def test_a_failure_gone_on_from_shows_a_null_output_and_its_error() -> None:
    made = document(
        step("a", function="fail", on_error="continue"),
        step("b", "a", input={"a": "{{ steps.a }}"}),
    )
    result = testing.run(made, None, FUNCTIONS)
    error = {"type": "RuntimeError", "message": "no luck"}
    assert result.status == "succeeded"
    assert result.output == {"b": {"a": {"status": "failed", "output": None, "error": error, "attempt": 1}}}


def test_a_failure_handler_sees_what_went_wrong() -> None:
    made = document(
        step("a", function="fail", input={"message": "the card is gone"}),
        step("b", depends_on=[on("a", "failure")], input={"why": "{{ steps.a.error.message }}"}),
    )
    result = testing.run(made, None, FUNCTIONS)
    assert result.status == "succeeded"
    assert result.steps["b"].output == {"why": "the card is gone"}


@pytest.mark.parametrize(("n", "taken"), [(1, "small"), (10, "large")])
def test_an_edges_condition_sees_the_result_of_its_source(n: int, taken: str) -> None:
    made = document(
        step("a", input={"n": n}),
        step("small", depends_on=[on("a", "success", "result.n < 5")]),
        step("large", depends_on=[on("a", "success", "result.n >= 5")]),
    )
    steps = testing.run(made, None, FUNCTIONS).steps
    assert {s.name for s in steps.values() if s.status == "succeeded"} == {"a", taken}
    assert {s.reason for s in steps.values() if s.status == "skipped"} == {"not_triggered"}


def test_an_edges_condition_sees_the_error_of_its_source() -> None:
    made = document(
        step("a", function="fail", input={"message": "busy"}),
        step("wait", depends_on=[on("a", "failure", "error.message == 'busy'")]),
        step("give up", depends_on=[on("a", "failure", "error.message != 'busy'")]),
    )
    result = testing.run(made, None, FUNCTIONS)
    assert (result.steps["wait"].status, result.steps["give up"].status) == ("succeeded", "upstream_failed")
    assert result.status == "succeeded"


def test_an_edges_condition_is_evaluated_once_as_its_source_ends() -> None:
    """What is published between that moment and the start of the step does not change it."""
    made = document(
        step("a", publish={"n": 1}),
        step("b", "a", publish={"n": 2}),
        step("c", depends_on=[on("a", "success", "vars.n == 1"), on("b", "success")]),
        vars={"n": 0},
    )
    assert testing.run(made, None, FUNCTIONS).steps["c"].status == "succeeded"


def test_a_condition_sees_variables_published_by_the_same_end() -> None:
    made = document(step("a", publish={"n": 1}), step("b", "a", when="vars.n == 1"), vars={"n": 0})
    assert testing.run(made, None, FUNCTIONS).steps["b"].status == "succeeded"


def test_a_condition_that_cannot_be_evaluated_fails_the_step_and_says_why() -> None:
    made = document(step("a", input={"n": 1}), step("b", "a", when="steps.a.output.m > 1"), step("c", "b"))
    result = testing.run(made, None, FUNCTIONS)
    b = result.steps["b"]
    assert (b.status, b.reason, result.steps["c"].status) == ("failed", "condition_error", "upstream_failed")
    assert b.error is not None
    assert "'m'" in b.error["message"] or "steps.a.output.m" in b.error["message"]
    assert result.error is not None
    assert result.error["step"] == "b"


def test_an_edge_condition_that_cannot_be_evaluated_fails_the_depending_step() -> None:
    made = document(step("a", input={"n": 1}), step("b", depends_on=[on("a", "success", "result.m > 1")]))
    result = testing.run(made, None, FUNCTIONS)
    assert (result.status, result.steps["b"].reason) == ("failed", "condition_error")


def test_the_run_is_in_scope() -> None:
    made = document(step("a", input={"run": "{{ run }}"}), tags=["x"])
    result = testing.run(made, None, FUNCTIONS)
    run: dict[str, Any] = result.output["a"]["run"]
    assert (run["id"], run["root_id"], run["workflow"], run["revision"]) == (result.id, result.id, "w", 1)
    assert (run["app"], run["tags"], run["status"], run["depth"]) == ("default", ["x"], "running", 0)
