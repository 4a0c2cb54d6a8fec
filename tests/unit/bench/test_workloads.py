from __future__ import annotations

import json

import pytest

from orchestrator.bench.graphs import fan, layers, sleepers
from orchestrator.bench.workloads import GRAPHS, SIZES, chosen, graph_workload
from orchestrator.domain.definition import WithItems
from orchestrator.domain.limits import LIMITS
from orchestrator.domain.parse import parse
from orchestrator.errors import InvalidConfig


@pytest.mark.parametrize("name", GRAPHS)
def test_every_workload_is_a_valid_document_of_as_many_steps_as_it_says(name: str) -> None:
    workload = graph_workload(name, SIZES[name])
    made = workload.document("w")
    assert len(json.dumps(made)) < LIMITS.document_bytes
    seen = len(parse(made).steps) + (workload.items - 1 if workload.items else 0)
    assert seen * workload.runs == workload.steps


@pytest.mark.parametrize(
    ("name", "size", "steps"),
    [
        ("W1", "3x4", 12),
        ("W2", "5", 7),
        ("W3", "3", 12),
        ("W4", "6", 6),
        ("W5", "7", 9),
        ("W6", "3x5", 15),
        ("W7", "2", 8),
    ],
)
def test_a_size_says_how_many_steps_there_are(name: str, size: str, steps: int) -> None:
    assert graph_workload(name, size).steps == steps


def test_the_join_of_a_fan_is_to_be_handed_what_all_leaves_gave() -> None:
    workload = graph_workload("W2", "5")
    assert (workload.join, workload.joined) == ("join", 5)
    assert list(fan(2)) == ["source", "leaf0", "leaf1", "join"]


def test_the_join_of_items_is_to_be_handed_what_all_of_them_gave() -> None:
    workload = graph_workload("W5", "7")
    assert (workload.join, workload.joined, workload.items) == ("join", 7, 7)
    each = parse(workload.document("w")).steps[1]
    assert each.with_items == WithItems("{{ range(7) | list }}")


def test_each_step_of_a_layer_depends_on_two_of_the_layer_before() -> None:
    graph = layers(3, 4)
    assert [len(sources) for sources in graph.values()] == [0] * 4 + [2] * 8
    assert graph["l2n3"] == ["l1n3", "l1n0"]


def test_sleepers_of_no_time_are_plain_steps() -> None:
    definition = parse(sleepers("w", [0.5, 0.0]))
    assert [step.function for step in definition.steps] == ["bench.step", "bench.sleep", "bench.step"]


def test_workloads_are_measured_at_their_usual_size_or_the_given_one() -> None:
    assert chosen(["W1", "W4"], []) == [[("W1", "20x50"), ("W4", "50")]]
    assert chosen(["W4", "W1", "W4"], ["W1=2x3"]) == [[("W4", "50"), ("W1", "2x3")]]


def test_a_second_set_of_sizes_measures_only_what_is_new_in_it() -> None:
    assert chosen(["W1", "W4"], ["", "W1=2x3"]) == [[("W1", "20x50"), ("W4", "50")], [("W1", "2x3")]]


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(InvalidConfig) as caught:
        chosen(["W1", "W0"], ["W2=3x4,W11=1", "W1=0x3"])
    assert [problem.path for problem in caught.value.problems] == ["W0", "W2", "W11", "W1"]
