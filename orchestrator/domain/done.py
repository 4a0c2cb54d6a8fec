"""The graph of what a function has done so far: what it began after the end of something comes behind that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from orchestrator.domain.definition import Definition, Edge, Step, StepKind
from orchestrator.domain.graph import Plan, make_plan

_KINDS = {"child": StepKind.WORKFLOW, "sleep": StepKind.SLEEP, "event": StepKind.WAIT_FOR}


@dataclass(frozen=True, slots=True)
class Begun:
    """Something that a function began. `name` is its step's; `verb` that of the journal."""

    position: int
    verb: str
    name: str
    at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Done:
    """`places`: the position in the run of each step of the plan."""

    plan: Plan
    places: tuple[int, ...]


def done_plan(definition: Definition, begun: Iterable[Begun], driver: str) -> Done:
    """What was begun, as a plan; while that is nothing, the step named `driver` alone."""
    steps, position_of = [], {driver: 0}
    for one, sources in _sources(begun):
        position_of[one.name] = one.position
        edges = tuple(Edge(source.name) for source in sources)
        steps.append(Step(one.name, _KINDS.get(one.verb, StepKind.FUNCTION), depends_on=edges))
    plan = make_plan(replace(definition, steps=tuple(steps or [Step(driver, StepKind.FUNCTION)]), handlers={}))
    return Done(plan, tuple(position_of[step.name] for step in plan.steps))


def _sources(begun: Iterable[Begun]) -> Iterable[tuple[Begun, list[Begun]]]:
    """Each with what ended before it began and has nothing behind it yet; what began beside another has the same."""
    ends: dict[int, Begun] = {}
    last: list[Begun] = []
    for one in sorted(begun, key=lambda one: one.position):
        ended = [before for before in ends.values() if before.ended_at is not None and before.ended_at <= one.at]
        if ended:
            last = ended
            for before in ended:
                del ends[before.position]
        ends[one.position] = one
        yield one, list(last)


def placed(chart: Mapping[str, Any], done: Done) -> dict[str, Any]:
    """The chart of the plan with positions of the run."""
    boxes = chart["nodes"]
    moved = [box | {"positions": [done.places[place] for place in box["positions"]]} for box in boxes]
    return {**chart, "nodes": moved}
