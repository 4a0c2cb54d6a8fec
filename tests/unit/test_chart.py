"""The graph of a page: nodes where the layout puts them, lines between their sides, large layers as one node."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.drawing import chart as charts
from orchestrator.domain.drawing.chart import COLUMN, HEIGHT, WIDTH, chart
from tests.documents import on, step
from tests.unit.test_draw import plan_of


def layered(layers: int, width: int) -> list[dict[str, Any]]:
    """Each step of a layer needs one of the layer before."""
    return [
        step(f"{layer}.{place}", *([f"{layer - 1}.{place}"] if layer else [])) | {"label": f"<{place}>"}
        for layer in range(layers)
        for place in range(width)
    ]


def test_every_step_is_a_node_and_lines_go_from_side_to_side() -> None:
    drawn = chart(plan_of(step("a"), step("b", "a"), step("c", "a", "b"), on_finish={"function": "f"}))
    names = [node["name"] for node in drawn["nodes"]]
    assert names == ["a", "b", "c", "on_finish"]
    assert [node["positions"] for node in drawn["nodes"][:3]] == [[0], [1], [2]]
    for source, target, _, _, path in drawn["lines"]:
        above, below = drawn["nodes"][source], drawn["nodes"][target]
        assert path[:2] == [above["x"] + WIDTH, above["y"] + HEIGHT / 2]
        assert path[-2:] == [below["x"], below["y"] + HEIGHT / 2]
    assert drawn["nodes"][3]["handler"]
    assert drawn["nodes"][3]["y"] > max(node["y"] for node in drawn["nodes"][:3])


def test_a_line_says_what_it_asks_for() -> None:
    drawn = chart(plan_of(step("a"), step("b", depends_on=[on("a", "failure")]), step("c", "a")))
    assert [(on, words) for _, _, on, words, _ in drawn["lines"]] == [("failure", "failure"), ("success", "")]


def test_a_large_layer_is_one_node_that_knows_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "MOST_NODES", 20)
    plan = plan_of(*layered(3, 10), step("last", "2.0", "2.9"))
    drawn = chart(plan)
    assert drawn["grouped"]
    assert drawn["steps"] == 31
    assert [node["positions"] for node in drawn["nodes"]] == [[0, 9], [10, 19], [20, 29], [30]]
    assert [node["label"] for node in drawn["nodes"][:3]] == ["10 steps"] * 3
    assert [node["x"] for node in drawn["nodes"]] == [0, COLUMN, 2 * COLUMN, 3 * COLUMN]
    assert [(source, target) for source, target, *_ in drawn["lines"]] == [(0, 1), (1, 2), (2, 3)]
    assert plan.steps[30].name == "last"


def test_ten_thousand_steps_are_few_nodes() -> None:
    middle = [f"s{i}" for i in range(9998)]
    drawn = chart(plan_of(step("a"), *[step(name, "a") for name in middle], step("z", *middle)))
    assert [node["positions"] for node in drawn["nodes"]] == [[0], [1, 9998], [9999]]
