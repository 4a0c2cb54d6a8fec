"""What items are made of, where they have their place, how many may fail."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.definition import WithItems
from orchestrator.domain.graph import make_plan
from orchestrator.domain.items import FIRST_ITEM, MOST_FANS, SPAN, expand, first_item, index_of, is_item, most_failures
from orchestrator.domain.parse import parse
from orchestrator.errors import ExpressionError, InvalidDefinition
from tests.documents import document, step


@pytest.mark.parametrize(
    ("value", "batch_size", "items"),
    [
        ([1, "a", None], None, [1, "a", None]),
        ({"b": 1, "a": [2]}, None, [{"key": "b", "value": 1}, {"key": "a", "value": [2]}]),
        ([1, 2, 3, 4, 5], 2, [[1, 2], [3, 4], [5]]),
        ({"k": 1}, 3, [[{"key": "k", "value": 1}]]),
        ([], 5, []),
        ({}, None, []),
    ],
)
def test_a_list_or_a_map_becomes_items(value: Any, batch_size: int | None, items: list[Any]) -> None:
    assert list(expand(value, batch_size)) == items


@pytest.mark.parametrize("value", ["text", 5, 1.5, None, True])
def test_nothing_else_does(value: Any) -> None:
    with pytest.raises(ExpressionError, match="must become a list or a map"):
        expand(value, None)


def test_there_are_never_more_items_than_places() -> None:
    with pytest.raises(ExpressionError, match="the limit is 1048576"):
        expand([0] * (SPAN + 1), None)


@pytest.mark.parametrize(
    ("said", "total", "most"),
    [(0, 5, 0), (3, 5, 3), (9, 5, 9), ("10%", 9, 0), ("10%", 10, 1), ("33.4%", 3, 1), ("2.3%", 1000, 23)],
)
def test_so_many_may_fail(said: int | str, total: int, most: int) -> None:
    assert most_failures(WithItems([], max_failures=said), total) == most


def test_items_have_their_places_above_all_steps_and_say_whose_they_are() -> None:
    made = document(step("a", with_items=[1]), step("b"), step("c", "a", with_items=[1]), on_finish={"pass": True})
    plan = make_plan(parse(made))
    a, c = plan.positions["a"], plan.positions["c"]
    assert plan.first_item(a) == FIRST_ITEM
    place = plan.first_item(c) + 77
    assert (plan.at(place).name, index_of(place), is_item(place)) == ("c", 77, True)
    assert plan.at(plan.first_item(a) + SPAN - 1).name == "a"
    assert not any(is_item(position) for position in plan.positions.values())


def test_a_workflow_has_as_many_steps_with_items_as_there_are_places() -> None:
    assert first_item(MOST_FANS - 1) + SPAN - 1 < 1 << 31
    parse(document(*(step(f"s{i}", with_items=[]) for i in range(MOST_FANS))))
    with pytest.raises(InvalidDefinition, match=f"at most {MOST_FANS} steps"):
        parse(document(*(step(f"s{i}", with_items=[]) for i in range(MOST_FANS + 1))))
