"""The first values of a run's variables."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.errors import InvalidInput
from tests.documents import FUNCTIONS, document, step


def test_vars_are_templates_over_the_input() -> None:
    result = testing.run(
        document(step("a", input={"city": "{{ vars.city }}"}), vars={"city": "{{ input.place | upper }}", "n": 1}),
        {"place": "Ulm"},
        FUNCTIONS,
    )
    assert result.vars == {"city": "ULM", "n": 1}
    assert result.output == {"a": {"city": "ULM"}}


def test_a_variable_that_cannot_be_rendered_refuses_the_start() -> None:
    broken = document(step("a"), vars={"fine": 1, "city": "{{ input.place }}"})
    with testing.sandbox(FUNCTIONS) as box:
        with pytest.raises(InvalidInput, match=r"vars\.city.*input\.place"):
            box.start(broken, {})
        assert box.connection.scalar(text("SELECT count(*) FROM workflow_runs")) == 0
