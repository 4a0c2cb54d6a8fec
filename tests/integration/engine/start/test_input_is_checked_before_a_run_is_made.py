"""An input its schema refuses makes no run; what the schema leaves open is filled in."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.errors import InvalidInput
from tests.documents import FUNCTIONS, document, step

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["amount"],
    "additionalProperties": False,
    "properties": {
        "amount": {"type": "number", "exclusiveMinimum": 0},
        "currency": {"type": "string", "default": "EUR"},
        "ship": {
            "type": "object",
            "default": {},
            "properties": {"fast": {"type": "boolean", "default": False}},
        },
    },
}
WORKFLOW = document(step("a", input={"all": "{{ input }}"}), input_schema=SCHEMA)


def test_all_that_is_wrong_is_named_with_its_path_and_no_run_is_made() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        with pytest.raises(InvalidInput) as refused:
            box.start(WORKFLOW, {"amount": -1, "ship": {"fast": "yes"}})
        assert {problem.path for problem in refused.value.problems} == {"input.amount", "input.ship.fast"}
        assert box.connection.scalar(text("SELECT count(*) FROM workflow_runs")) == 0


def test_a_missing_key_is_named() -> None:
    with pytest.raises(InvalidInput, match="amount"):
        testing.run(WORKFLOW, {}, FUNCTIONS)


def test_defaults_are_filled_in_at_every_depth() -> None:
    result = testing.run(WORKFLOW, {"amount": 5}, FUNCTIONS)
    assert result.output == {"a": {"all": {"amount": 5, "currency": "EUR", "ship": {"fast": False}}}}


def test_what_is_given_is_not_overwritten_by_defaults() -> None:
    given = {"amount": 5, "currency": "USD", "ship": {"fast": True}}
    assert testing.run(WORKFLOW, given, FUNCTIONS).output == {"a": {"all": given}}


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\x00", b"x"], ids=["NaN", "a set", "NUL", "bytes"])
def test_what_json_cannot_hold_is_refused_with_its_path(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"input\.deep\[1\]"):
        testing.run(document(step("a")), {"deep": [1, value]}, FUNCTIONS)


def test_no_input_is_an_empty_map() -> None:
    assert testing.run(document(step("a", input={"all": "{{ input }}"})), None, FUNCTIONS).output == {"a": {"all": {}}}
