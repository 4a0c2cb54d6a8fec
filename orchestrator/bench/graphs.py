"""The graphs of the workloads, and the workflow documents made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# What each step depends on, by name; a step comes after its sources.
Graph = Mapping[str, Sequence[str]]

# Of all steps before it; its own has none yet. The first step of the run is among them (steps.py).
_RESULTS = "{{ steps.values() | map(attribute='output') | select | list }}"
_INPUT = {"log": "{{ input.log }}", "run": "{{ input.run }}"}

# A step with items between two others, and what its items are handed on as.
ITEMS: Graph = {"source": [], "each": ["source"], "join": ["each"]}
_OF_ITEMS = "{{ [steps.source.output] + steps.each.output }}"

DIAMOND: Graph = {"A": [], "B": ["A"], "C": ["A"], "D": ["B", "C"]}


def chain(length: int) -> Graph:
    """One step after another."""
    return {f"s{i}": [f"s{i - 1}"] if i else [] for i in range(length)}


def fan(width: int) -> Graph:
    """One step, `width` steps side by side, one step."""
    leaves = [f"leaf{i}" for i in range(width)]
    return {"source": [], **{leaf: ["source"] for leaf in leaves}, "join": leaves}


def layers(depth: int, width: int) -> Graph:
    """`depth` layers of `width` steps, each of which depends on two neighbours in the layer before."""

    def sources(layer: int, place: int) -> list[str]:
        return [f"l{layer - 1}n{place}", f"l{layer - 1}n{(place + 1) % width}"] if layer else []

    return {f"l{layer}n{place}": sources(layer, place) for layer in range(depth) for place in range(width)}


def document(name: str, graph: Graph, join: str | None = None) -> dict[str, Any]:
    """The workflow of the graph; the step `join` is handed all results. Its input is `log` and `run` (steps.py)."""
    steps = [_step(step, sources, step == join) for step, sources in graph.items()]
    return {"name": name, "defaults": {"function": "bench.step", "input": _INPUT}, "steps": steps}


def items_document(name: str, count: int) -> dict[str, Any]:
    """The workflow of ITEMS with so many items."""
    made = document(name, ITEMS, "join")
    source, each, join = made["steps"]
    each["function"] = "bench.item"
    each["with_items"] = f"{{{{ range({count}) | list }}}}"
    join["input"]["results"] = _OF_ITEMS
    return made | {"steps": [source, each, join]}


def _step(name: str, sources: Sequence[str], joins: bool) -> dict[str, Any]:
    step: dict[str, Any] = {"name": name}
    if sources:
        step["depends_on"] = list(sources)
    if joins:
        step |= {"function": "bench.join", "input": {**_INPUT, "results": _RESULTS}}
    return step


def sleepers(name: str, seconds: Iterable[float]) -> dict[str, Any]:
    """A workflow of one step and, after it, a step that sleeps for each of `seconds`; those of 0 do nothing."""
    steps: list[dict[str, Any]] = [{"name": "source"}]
    for index, value in enumerate(seconds):
        step: dict[str, Any] = {"name": f"n{index}", "depends_on": ["source"]}
        if value:
            step |= {"function": "bench.sleep", "input": {**_INPUT, "seconds": value}}
        steps.append(step)
    return {"name": name, "defaults": {"function": "bench.step", "input": _INPUT}, "steps": steps}
