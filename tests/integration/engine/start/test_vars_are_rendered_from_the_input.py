"""The first values of a run's variables."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.errors import InvalidInput
from orchestrator.services.engine import Settings
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


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"v": "{{ '\\0' }}"}, r"vars\.v: .*NUL"),
        ({"v": "{{ '\\ud800' }}"}, r"vars\.v: .*surrogate"),
        ({f"v{i}": "{{ 'x' * 40 }}" for i in range(3)}, r"vars.*100 bytes"),
    ],
    ids=["NUL", "half a character", "together too large"],
)
def test_variables_that_cannot_be_stored_refuse_the_start(values: dict[str, str], told: str) -> None:
    with testing.sandbox(FUNCTIONS, settings=Settings(max_output_bytes=100)) as box:
        with pytest.raises(InvalidInput, match=told):
            box.start(document(step("a"), vars=values))
        assert box.connection.scalar(text("SELECT count(*) FROM workflow_runs")) == 0
