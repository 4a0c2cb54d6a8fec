"""A plan as a page draws it: nodes at places and lines between them, as JSON. Of a large one, a layer is one node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.domain.drawing.layout import Item, Layout, Route, lay_out_graph
from orchestrator.domain.drawing.looks import edge_words, start_words, title
from orchestrator.domain.graph import Plan, PlanStep

MOST_NODES = 2_000
# A layer of more steps than these is one node, in a plan of more than MOST_NODES steps.
_MOST_OF_LAYER = 8

COLUMN, ROW, WIDTH, HEIGHT = 260, 58, 176, 42  # of the drawing, in its own units


def chart(plan: Plan) -> dict[str, Any]:
    """`nodes`: `x`, `y` (left and top), `name`, `label`, `kind`, `note`, `positions` of the steps in it; `lines`.

    `positions` are one, or the first and last of a layer's steps, which follow each other. Lifecycle handlers stand
    in a row below the steps. A line is a list: the places of its ends in `nodes`, the end of the source it asks for
    (`success`, `failure`, `complete`, `skipped`), its words, and its path.
    """
    groups = _groups(plan)
    layout = lay_out_graph(_graph(plan, groups))
    nodes = [_box(plan, group) for group in groups]
    for item in _placed(layout):
        nodes[item.position or 0] |= {"x": item.column * COLUMN, "y": round(item.y * ROW, 1)}
    lines = [_line(plan, groups, route) for route in layout.routes]
    height = layout.height * ROW
    nodes += [_handler(step, place, height) for place, step in enumerate(plan.handlers.values())]
    grouped = any(len(group) > 1 for group in groups)
    return {"nodes": nodes, "lines": lines, "size": [WIDTH, HEIGHT], "grouped": grouped, "steps": len(plan.steps)}


def _groups(plan: Plan) -> list[range]:
    """Positions that are drawn as one node."""
    if len(plan.steps) <= MOST_NODES:
        return [range(position, position + 1) for position in range(len(plan.steps))]
    groups: list[range] = []
    for layer in _layers(plan):
        groups += [layer] if len(layer) > _MOST_OF_LAYER else [range(place, place + 1) for place in layer]
    return groups


def _layers(plan: Plan) -> Iterator[range]:
    """The positions of each depth: they follow each other."""
    depth: list[int] = []
    begin = 0
    for step in plan.steps:
        depth.append(1 + max((depth[source] for source in step.sources), default=-1))
        if depth[-1] != depth[begin]:
            yield range(begin, step.position)
            begin = step.position
    yield range(begin, len(plan.steps))


def _graph(plan: Plan, groups: Sequence[range]) -> list[list[int]]:
    """The sources of each group."""
    of = {position: place for place, group in enumerate(groups) for position in group}
    return [sorted({of[source] for position in group for source in plan.steps[position].sources}) for group in groups]


def _placed(layout: Layout) -> Iterator[Item]:
    for column in layout.columns:
        yield from (item for item in column if item.position is not None)


def _box(plan: Plan, group: range) -> dict[str, Any]:
    if len(group) > 1:
        label = f"{len(group):,} steps"
        return {"name": label, "label": label, "kind": "layer", "note": "", "positions": [group[0], group[-1]]}
    step = plan.steps[group[0]]
    return _named(step) | {"positions": [step.position]}


def _named(here: PlanStep) -> dict[str, Any]:
    step = here.step
    kind = "items" if step.with_items is not None else step.kind.value
    return {"name": step.name, "label": title(step), "kind": kind, "note": start_words(step)}


def _handler(here: PlanStep, place: int, top: float) -> dict[str, Any]:
    shown = _named(here) | {"positions": [here.position], "handler": True}
    return shown | {"x": place * COLUMN, "y": round(top + ROW / 2, 1)}


def _line(plan: Plan, groups: Sequence[range], route: Route) -> list[Any]:
    on, words = "success", ""
    if len(groups[route.source]) == len(groups[route.dependant]) == 1:
        source = plan.steps[groups[route.source][0]]
        edges = [edge for _, edge in plan.steps[groups[route.dependant][0]].edges_from(source.name)]
        on, words = edges[0].on.value, edge_words(edges)
    return [route.source, route.dependant, on, words, _path(route.items)]


def _path(items: Sequence[Item]) -> list[float]:
    """From the right of the source over its waypoints to the left of the target: x, y, x, y and so on.

    A waypoint gives two points, at the left and at the right of its column.
    """
    first, *rest = items
    points: list[float] = [first.column * COLUMN + WIDTH, _middle(first)]
    for item in rest:
        points += [item.column * COLUMN, _middle(item)]
        if item.position is None:
            points += [item.column * COLUMN + WIDTH, _middle(item)]
    return points


def _middle(item: Item) -> float:
    return round(item.y * ROW + HEIGHT / 2, 1)
