"""The graph of a definition: order, sources, dependants, cycles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.definition import Definition, Edge, EdgeOn, Step, StepKind
from orchestrator.domain.graph import Plan, depths, find_cycle, make_plan


def step(name: str, *above: str) -> Step:
    return Step(name=name, kind=StepKind.PASS, depends_on=tuple(map(Edge, above)))


def plan(*steps: Step, handlers: tuple[str, ...] = ()) -> Plan:
    return make_plan(Definition("w", steps, handlers={name: step(name) for name in handlers}))


@st.composite
def acyclic(draw: st.DrawFn) -> list[Step]:
    """Steps of an acyclic graph, in any order of the document."""
    count = draw(st.integers(1, 12))
    names = [f"s{i}" for i in range(count)]
    above = [draw(st.sets(st.sampled_from(names[:i]))) if i else set() for i in range(count)]
    return draw(st.permutations([step(n, *sorted(a)) for n, a in zip(names, above, strict=True)]))


@st.composite
def any_graph(draw: st.DrawFn) -> list[Step]:
    """Steps that may depend on any other, themselves included, or on names that do not exist."""
    count = draw(st.integers(1, 10))
    names = [f"s{i}" for i in range(count)]
    targets = st.lists(st.sampled_from([*names, "unknown"]), max_size=3)
    return [step(name, *draw(targets)) for name in names]


@given(acyclic())
def test_every_source_stands_before_its_dependants(steps: list[Step]) -> None:
    made = plan(*steps)
    assert [s.position for s in made.steps] == list(range(len(steps)))
    for s in made.steps:
        assert all(source < s.position for source in s.sources)
        assert all(dependant > s.position for dependant in s.dependants)


@given(acyclic())
def test_sources_and_dependants_mirror_each_other(steps: list[Step]) -> None:
    made = plan(*steps)
    down = {(s.position, d) for s in made.steps for d in s.dependants}
    up = {(source, s.position) for s in made.steps for source in s.sources}
    edges = {(made.positions[e.step], made.positions[s.name]) for s in steps for e in s.depends_on}
    assert down == up == edges


@given(acyclic())
def test_positions_ascend_by_depth_and_then_by_the_documents_order(steps: list[Step]) -> None:
    depth, place = depths(steps), {s.name: i for i, s in enumerate(steps)}
    ranks = [(depth[s.name], place[s.name]) for s in plan(*steps).steps]
    assert ranks == sorted(ranks)


@given(acyclic())
def test_depth_is_the_longest_way_from_a_root(steps: list[Step]) -> None:
    above = {s.name: [e.step for e in s.depends_on] for s in steps}

    def longest(name: str) -> int:
        return max((1 + longest(source) for source in above[name]), default=0)

    assert depths(steps) == {name: longest(name) for name in above}


@given(acyclic())
def test_an_acyclic_graph_has_no_cycle(steps: list[Step]) -> None:
    assert find_cycle(steps) is None


@given(any_graph())
def test_the_cycle_that_is_named_is_one_and_is_found_whenever_there_is_one(steps: list[Step]) -> None:
    cycle = find_cycle(steps)
    above = {s.name: {e.step for e in s.depends_on} for s in steps}
    assert (cycle is not None) == _has_cycle(above)
    if cycle is not None:
        assert len(set(cycle)) == len(cycle)
        for name, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            assert name in above[following], f"{following} does not depend on {name}"


def _has_cycle(above: dict[str, set[str]]) -> bool:
    """Whether some step is above itself, found by following every way."""
    for start in above:
        reached, front = set(), set(above[start])
        while front:
            reached |= front
            front = {n for name in front for n in above.get(name, ())} - reached
        if start in reached:
            return True
    return False


def test_a_step_that_depends_on_itself_is_a_cycle_of_one() -> None:
    assert find_cycle([step("a", "a")]) == ["a"]


def test_steps_behind_a_cycle_are_not_named_as_part_of_it() -> None:
    cycle = find_cycle([step("start"), step("a", "start", "c"), step("b", "a"), step("c", "b"), step("end", "c")])
    assert cycle is not None
    assert set(cycle) == {"a", "b", "c"}


def test_a_chain_as_long_as_the_limit_is_ordered() -> None:
    chain = [step("s0"), *(step(f"s{i}", f"s{i - 1}") for i in range(1, 20_000))]
    made = plan(*reversed(chain))
    assert [s.name for s in made.steps] == [s.name for s in chain]
    assert find_cycle(chain) is None


def test_a_cycle_as_long_as_the_limit_is_found() -> None:
    ring = [step(f"s{i}", f"s{(i - 1) % 20_000}") for i in range(20_000)]
    found = find_cycle(ring)
    assert found is not None
    assert len(found) == 20_000


def test_several_edges_from_one_source_make_one_dependence() -> None:
    both = Step("b", StepKind.PASS, depends_on=(Edge("a", EdgeOn.SUCCESS), Edge("a", EdgeOn.FAILURE)))
    made = plan(step("a"), both)
    assert made.named("b").sources == (0,)
    assert made.named("a").dependants == (1,)
    assert [i for i, _ in made.named("b").edges_from("a")] == [0, 1]


def test_leaves_are_the_steps_nothing_depends_on() -> None:
    made = plan(step("a"), step("b", "a"), step("c", "a"), step("d", "b"))
    assert [s.name for s in made.leaves] == ["c", "d"]


def test_handlers_stand_behind_all_steps_each_in_its_own_place() -> None:
    made = plan(step("a"), step("b", "a"), handlers=("on_finish", "on_failure"))
    assert made.positions == {"a": 0, "b": 1, "on_failure": 3, "on_finish": 5}
    assert made.at(3).name == "on_failure"
    assert made.named("on_finish").sources == ()
    assert all(made.at(s.position) is s for s in made.steps)
