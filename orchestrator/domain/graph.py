"""The graph of a definition: steps in topological order, who depends on whom, and what each one reads."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.definition import HANDLER_NAMES, Definition, Edge, Step, StepKind
from orchestrator.domain.items import FIRST_ITEM, fan_of, first_item, is_item


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step with its place in the graph. Every source's position is lower than the step's own."""

    position: int
    step: Step
    sources: tuple[int, ...]  # distinct positions, ascending
    dependants: tuple[int, ...]  # distinct positions, ascending
    edges: Mapping[str, Sequence[tuple[int, Edge]]]  # by source, each with its index in `depends_on`
    conditional: bool  # an edge has a `when`

    @property
    def name(self) -> str:
        return self.step.name

    def edges_from(self, source: str) -> Sequence[tuple[int, Edge]]:
        """Edges from one source, each with its index in `depends_on`."""
        return self.edges.get(source, ())


@dataclass(frozen=True, slots=True)
class Plan:
    """A definition ready to run: `steps[position]`; handlers follow the steps, `on_finish` last, then compensations,
    then items.

    `fans`: the positions of steps with items.
    """

    definition: Definition
    steps: tuple[PlanStep, ...]
    handlers: dict[str, PlanStep]
    compensations: dict[int, PlanStep]  # by the position of the step they undo
    positions: dict[str, int]  # by name, handlers included
    fans: tuple[int, ...] = ()

    def at(self, position: int) -> PlanStep:
        """The step, the handler, or the step whose item has this position."""
        if is_item(position):
            return self.steps[self.fans[fan_of(position)]]
        if position < len(self.steps):
            return self.steps[position]
        if self.code:
            return PlanStep(position, Step(f"step {position}", StepKind.FUNCTION), (), (), {}, False)
        past = position - len(self.steps)
        if past < len(HANDLER_NAMES):
            return self.handlers[HANDLER_NAMES[past]]
        return self.compensations[past - len(HANDLER_NAMES)]

    @property
    def code(self) -> bool:
        """Whether a function is run: the one step of the plan, which begins others at the positions above its own."""
        return self.steps[0].step.kind is StepKind.CODE

    def is_begun(self, position: int) -> bool:
        """Whether it is that of a step that a function has begun."""
        return self.code and position > 0

    def is_handler(self, position: int) -> bool:
        """Whether it is a lifecycle handler's, or a compensation's."""
        return not self.code and len(self.steps) <= position < self.extent

    @property
    def end(self) -> int:
        """The positions of all steps, but for handlers and compensations, are below this one."""
        return FIRST_ITEM if self.code else len(self.steps)

    @property
    def extent(self) -> int:
        """All positions are below this one."""
        return FIRST_ITEM if self.code else 2 * len(self.steps) + len(HANDLER_NAMES)

    def owner(self, position: int) -> PlanStep | None:
        """The step that counts the end of the row at a position: of an item its step, of a begun step the driver."""
        if self.is_begun(position):
            return self.steps[0]
        return self.at(position) if is_item(position) else None

    @property
    def afterwards(self) -> list[PlanStep]:
        """What may run after the last step: handlers and compensations."""
        return [*self.handlers.values(), *self.compensations.values()]

    def named(self, name: str) -> PlanStep:
        return self.at(self.positions[name])

    def first_item(self, position: int) -> int:
        """Where the items of the step with items at `position` begin."""
        return first_item(self.fans.index(position))

    @property
    def leaves(self) -> list[PlanStep]:
        return [step for step in self.steps if not step.dependants]


def make_plan(definition: Definition) -> Plan:
    """The plan of a checked definition (acyclic, known names); O(steps + edges).

    Positions ascend by depth, then by the document's order. Rows are locked in this order (docs/adr/0003).
    """
    order = _by_depth(definition.steps)
    position = {step.name: i for i, step in enumerate(order)}
    sources = [tuple(sorted({position[e.step] for e in step.depends_on})) for step in order]
    dependants: list[list[int]] = [[] for _ in order]
    for here, above in enumerate(sources):
        for source in above:
            dependants[source].append(here)
    steps = tuple(_plan_step(i, step, sources[i], dependants[i]) for i, step in enumerate(order))
    handlers = _handlers(definition, len(steps))
    positions = position | {name: step.position for name, step in handlers.items()}
    fans = tuple(step.position for step in steps if step.step.with_items is not None)
    return Plan(definition, steps, handlers, _compensations(steps), positions, fans)


def _plan_step(position: int, step: Step, sources: Sequence[int], dependants: Sequence[int]) -> PlanStep:
    conditional = any(edge.when is not None for edge in step.depends_on)
    return PlanStep(position, step, tuple(sources), tuple(dependants), edges_by_source(step), conditional)


def edges_by_source(step: Step) -> Mapping[str, Sequence[tuple[int, Edge]]]:
    """The edges of a step by their source, each with its index: a step may have thousands."""
    found: dict[str, list[tuple[int, Edge]]] = {}
    for index, edge in enumerate(step.depends_on):
        found.setdefault(edge.step, []).append((index, edge))
    return found


def _handlers(definition: Definition, first: int) -> dict[str, PlanStep]:
    place = {name: first + i for i, name in enumerate(HANDLER_NAMES)}
    return {name: _plan_step(place[name], step, (), ()) for name, step in definition.handlers.items()}


def _compensations(steps: Sequence[PlanStep]) -> dict[int, PlanStep]:
    first = len(steps) + len(HANDLER_NAMES)
    undone = [(here.position, here.step.compensate) for here in steps]
    return {place: _plan_step(first + place, step, (), ()) for place, step in undone if step is not None}


def _by_depth(steps: Sequence[Step]) -> list[Step]:
    depth = depths(steps)
    return sorted(steps, key=lambda step: depth[step.name])


def depths(steps: Sequence[Step]) -> dict[str, int]:
    """The longest path from a root to each step, roots at 0. Steps on or behind a cycle are absent."""
    depth: dict[str, int] = {}
    for name, above in _topological(steps):
        depth[name] = 1 + max((depth[source] for source in above), default=-1)
    return depth


def _topological(steps: Sequence[Step]) -> Iterable[tuple[str, set[str]]]:
    """Names with their sources, every source before its dependants (Kahn's algorithm)."""
    above = {step.name: {edge.step for edge in step.depends_on} for step in steps}
    below: dict[str, list[str]] = {name: [] for name in above}
    for name, sources in above.items():
        for source in sources:
            below.setdefault(source, []).append(name)
    open_count = {name: len(sources) for name, sources in above.items()}
    place = {step.name: i for i, step in enumerate(steps)}
    ready = [(place[name], name) for name, count in open_count.items() if count == 0]
    heapq.heapify(ready)
    while ready:
        _, name = heapq.heappop(ready)
        yield name, above[name]
        for dependant in below[name]:
            open_count[dependant] -= 1
            if open_count[dependant] == 0:
                heapq.heappush(ready, (place[dependant], dependant))


def find_cycle(steps: Sequence[Step]) -> list[str] | None:
    """One cycle as names in order of dependence, or None. Unknown names are passed over."""
    known = {step.name for step in steps}
    reached = depths([_without_unknown(step, known) for step in steps])
    above = {s.name: [e.step for e in s.depends_on if e.step in known] for s in steps if s.name not in reached}
    if not above:
        return None
    path: list[str] = []
    seen: dict[str, int] = {}
    name = next(iter(above))
    while name not in seen:
        seen[name] = len(path)
        path.append(name)
        name = next(source for source in above[name] if source in above)
    return list(reversed(path[seen[name] :]))


def _without_unknown(step: Step, known: set[str]) -> Step:
    if all(edge.step in known for edge in step.depends_on):
        return step
    from_known = tuple(edge for edge in step.depends_on if edge.step in known)
    return Step(name=step.name, kind=step.kind, depends_on=from_known)
