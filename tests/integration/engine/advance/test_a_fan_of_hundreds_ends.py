"""Wide fans: every step ends, none twice, and nothing hangs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from orchestrator import testing
from tests.documents import document, step

WIDTH = 300


@pytest.mark.parametrize("end", ["succeeded", "failed"])
def test_a_fan_in_of_hundreds_ends_as_its_sources_do(end: str) -> None:
    calls: Counter[str] = Counter()

    def call(ctx: Any) -> None:
        calls[ctx.step] += 1
        if ctx.step == "s234" and end == "failed":
            raise RuntimeError

    sources = [f"s{i}" for i in range(WIDTH)]
    made = document(
        step("first", function="f"),
        *(step(name, "first", function="f") for name in sources),
        step("last", *sources, function="f"),
    )
    result = testing.run(made, None, {"f": call})
    assert result.status == end
    assert result.steps["last"].status == ("succeeded" if end == "succeeded" else "upstream_failed")
    assert set(calls.values()) == {1}
    assert len(calls) == WIDTH + (2 if end == "succeeded" else 1)


def test_a_failure_before_hundreds_of_steps_ends_them_all_in_one_go() -> None:
    def call() -> None:
        raise RuntimeError

    sources = [f"s{i}" for i in range(WIDTH)]
    made = document(
        step("first", function="f"),
        *(step(name, "first", function="f") for name in sources),
        step("last", *sources, function="f"),
    )
    result = testing.run(made, None, {"f": call})
    assert Counter(s.status for s in result.steps.values()) == {"failed": 1, "upstream_failed": WIDTH + 1}
    assert result.status == "failed"
