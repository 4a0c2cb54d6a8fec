"""ORCHESTRATOR_MAX_OUTPUT_BYTES holds for what templates give, wherever one stands."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import testing
from orchestrator.errors import InvalidInput
from orchestrator.services.engine import Settings
from tests.documents import FUNCTIONS, document, step

MIB = 1 << 20
ROOMY = Settings(max_output_bytes=4 * MIB)
PART = "x" * (MIB // 2)
# Two megabytes of four texts.
LARGE = ["{{ input.part }}"] * 4
TOO_LARGE = "its result is too large (the limit is 1048576 characters of JSON)"

PLACES: dict[str, dict[str, Any]] = {
    "input": document(step("a", input={"parts": LARGE}), output={}),
    "pass": document(step("a", **{"pass": True}, input=LARGE), output={}),
    "publish": document(step("a", publish={"large": LARGE})),
    "output": document(step("a"), output=LARGE),
}


def end(made: dict[str, Any], settings: Settings | None = None) -> testing.RunResult:
    return testing.run(made, {"part": PART}, FUNCTIONS, settings=settings)


@pytest.mark.parametrize("place", PLACES)
def test_two_megabytes_are_given_where_four_may_be(place: str) -> None:
    result = end(PLACES[place], ROOMY)
    a = result.steps["a"]
    assert (result.status, result.error) == ("succeeded", None)
    given = {"input": a.input, "pass": a.output, "publish": result.vars, "output": result.output}[place]
    assert given in ([PART] * 4, {"parts": [PART] * 4}, {"large": [PART] * 4})


@pytest.mark.parametrize("place", PLACES)
def test_two_megabytes_are_refused_where_one_may_be(place: str) -> None:
    result = end(PLACES[place])
    assert result.status == "failed"
    assert result.error is not None
    assert TOO_LARGE in result.error["message"]


def test_variables_of_two_megabytes_are_set_at_the_start_where_four_may_be() -> None:
    made = document(step("a"), vars={"large": LARGE})
    assert end(made, ROOMY).vars == {"large": [PART] * 4}
    with pytest.raises(InvalidInput, match="vars.large"):
        end(made)
