"""What keeps an attempt from being made is told, and not tried again."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import testing
from tests.documents import FUNCTIONS, document, step

RETRY = {"max_attempts": 5}


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"function": "chrage"}, "'chrage' is not known here"),
        ({"input": {"n": "{{ input.nmae }}"}}, "input.nmae"),
        ({"input": "{{ input.name }}"}, "must be a map of keyword arguments, not str"),
        ({"timeout": "{{ input.name }}"}, "`timeout` must become a number of seconds"),
        ({"total_timeout": "{{ 0 - 5 }}"}, "`total_timeout` must become a number of seconds"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_it_fails_at_the_first_attempt_and_says_why(keys: dict[str, Any], says: str) -> None:
    result = testing.run(document(step("a", retry=RETRY, **keys)), {"name": "Ada"}, FUNCTIONS)
    failed = result.steps["a"]
    assert (result.status, failed.status, failed.reason, failed.attempts) == ("failed", "failed", "error", 1)
    assert failed.error is not None
    assert says in failed.error["message"]
    assert result.error is not None
    assert result.error["step"] == "a"


def test_a_queue_that_cannot_be_rendered_fails_the_step_before_any_attempt() -> None:
    result = testing.run(document(step("a", queue="{{ input.where }}"), step("b", "a")), {}, FUNCTIONS)
    assert (result.steps["a"].status, result.steps["a"].attempts) == ("failed", 0)
    assert result.steps["b"].status == "upstream_failed"


def test_arguments_the_function_does_not_take_fail_the_attempt() -> None:
    result = testing.run(document(step("a", function="one", input={"x": 1})), {}, {"one": lambda: 1})
    assert result.steps["a"].status == "failed"
    assert result.steps["a"].error is not None
    assert result.steps["a"].error["type"] == "TypeError"
