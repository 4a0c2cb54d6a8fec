"""Graphs as trees."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.marks import Signs
from orchestrator.cli.tree import tree
from orchestrator.domain.graph import Plan
from tests.unit.cli.looks import plan_from, plan_of


def drawn(plan: Plan) -> list[str]:
    signs = Signs()
    return ["".join(signs.branch[guide] for guide in line.guides) + plan.at(line.position).name for line in tree(plan)]


def test_a_chain_stays_at_one_indent() -> None:
    assert drawn(plan_of(a="", b="a", c="b")) == ["a", "b", "c"]


def test_branches_hang_below_their_fork_and_a_join_comes_after_all_it_joins() -> None:
    plan = plan_of(a="", b="a", c="a", c2="c", d="b c2", e="d")
    assert drawn(plan) == ["a", "├─ b", "└─ c", "   c2", "d", "e"]


def test_a_fork_within_a_branch_is_indented_further() -> None:
    plan = plan_of(a="", b="a", c="a", d="b", e="b", f="d e", g="c f")
    assert drawn(plan) == ["a", "├─ b", "│  ├─ d", "│  └─ e", "│  f", "└─ c", "g"]


def test_several_roots_are_branches_of_nothing() -> None:
    assert drawn(plan_of(a="", b="", c="a b")) == ["├─ a", "└─ b", "c"]


def test_a_shortcut_past_a_step_does_not_indent_it() -> None:
    assert drawn(plan_of(a="", b="a", c="a b")) == ["a", "b", "c"]


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    count = draw(st.integers(1, 30))
    return {
        f"s{i}": [f"s{j}" for j in draw(st.sets(st.integers(0, i - 1), max_size=3))] if i else [] for i in range(count)
    }


@given(graphs())
def test_every_step_has_one_line_below_all_its_sources(graph: dict[str, list[str]]) -> None:
    plan = plan_from(graph)
    order = [line.position for line in tree(plan)]
    assert sorted(order) == list(range(len(graph)))
    place = {position: index for index, position in enumerate(order)}
    assert all(place[source] < place[step.position] for step in plan.steps for source in step.sources)
