"""What a run gives: `output`, else its leaves' outputs; its schema; and what is wrong with either."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import testing
from tests.documents import FUNCTIONS, document, step


def test_without_output_it_is_that_of_the_leaves() -> None:
    made = document(step("a", input={"n": 1}), step("b", "a", input={"n": 2}), step("c", "a", when="false"))
    assert testing.run(made, None, FUNCTIONS).output == {"b": {"n": 2}, "c": None}


def test_templates_are_rendered_at_the_end() -> None:
    made = document(
        step("a", input={"n": 1}, publish={"n": "{{ result.n }}"}),
        output={"n": "{{ vars.n }}", "a": "{{ steps.a.output }}", "text": "n={{ vars.n }}", "input": "{{ input }}"},
        vars={"n": 0},
    )
    result = testing.run(made, {"x": 1}, FUNCTIONS)
    assert result.output == {"n": 1, "a": {"n": 1}, "text": "n=1", "input": {"x": 1}}


def test_an_output_of_null_is_null() -> None:
    assert testing.run(document(step("a"), output=None), None, FUNCTIONS).output is None


def test_an_output_that_cannot_be_rendered_fails_the_run() -> None:
    result = testing.run(document(step("a", input={"n": 1}), output="{{ steps.a.output.m }}"), None, FUNCTIONS)
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error["type"], result.error["step"]) == ("OutputError", None)
    assert result.steps["a"].status == "succeeded"


@pytest.mark.parametrize(("n", "status"), [(1, "succeeded"), ("one", "failed")])
def test_an_output_its_schema_refuses_fails_the_run_naming_the_path(n: Any, status: str) -> None:
    schema = {"type": "object", "properties": {"deep": {"properties": {"n": {"type": "integer"}}}}}
    made = document(step("a", input={"n": n}), output={"deep": "{{ steps.a.output }}"}, output_schema=schema)
    result = testing.run(made, None, FUNCTIONS)
    assert result.status == status
    if status == "failed":
        assert result.error is not None
        assert result.error["type"] == "OutputSchemaError"
        assert "deep.n" in result.error["message"]


def test_a_failed_run_has_no_output() -> None:
    result = testing.run(document(step("a", function="fail"), output={"n": 1}), None, FUNCTIONS)
    assert (result.status, result.output) == ("failed", None)
