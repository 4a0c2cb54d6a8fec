"""What `orchestrator.testing` says to who uses it."""

from __future__ import annotations

import pytest

from orchestrator import testing
from orchestrator.errors import InvalidDefinition


def test_the_path_of_a_workflow_given_as_text_is_answered_with_how_to_give_it() -> None:
    with pytest.raises(InvalidDefinition, match=r"'report.yaml' is text.*pathlib\.Path"):
        testing.run("report.yaml")


def test_a_function_that_a_test_does_not_give_is_not_looked_for_in_a_worker() -> None:
    result = testing.run({"name": "x", "steps": [{"name": "a", "function": "chrage"}]}, functions={"charge": print})
    message = result.error["message"] if result.error else ""
    assert "'chrage' is not known here; did you mean 'charge'? (a test's functions are" in message
    assert "worker" not in message
