"""The edges: known targets, no circle, none twice."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.domain.checks.findings import Draft, Findings
from orchestrator.domain.definition import HANDLER_NAMES, Edge, Step
from orchestrator.domain.graph import depths, find_cycle

_MOST_CYCLES = 10
_NAMED = 12


def check_graph(draft: Draft, findings: Findings) -> None:
    """All edges, and the circles they make."""
    for index, step in enumerate(draft.definition.steps):
        if step.depends_on:
            _check_edges(draft, index, step, findings)
    _check_cycles(draft, findings)


def edge_place(draft: Draft, index: int, at: int) -> str:
    """The path of a step's edge."""
    alone = isinstance(draft.raw(index)["depends_on"], str)
    return f"steps[{index}].depends_on" + ("" if alone else f"[{at}]")


def _check_edges(draft: Draft, index: int, step: Step, findings: Findings) -> None:
    seen: dict[Edge, int] = {}
    for at, edge in enumerate(step.depends_on):
        if edge.step == step.name:
            findings.add(edge_place(draft, index, at), f"step '{step.name:.255}' depends on itself")
        elif edge.step not in draft.names:
            _add_unknown(draft, edge_place(draft, index, at), edge.step, findings)
        elif edge in seen:
            findings.add(edge_place(draft, index, at), f"says the same as depends_on[{seen[edge]}]")
        seen.setdefault(edge, at)


def _add_unknown(draft: Draft, place: str, name: str, findings: Findings) -> None:
    if name in HANDLER_NAMES:
        findings.add(place, f"'{name}' is a lifecycle handler; steps cannot depend on it")
    else:
        findings.add(place, f"unknown step '{name}'", findings.near(name, draft.names))


def _check_cycles(draft: Draft, findings: Findings) -> None:
    steps = [_without_self(step) for step in draft.definition.steps]
    on_cycle: set[str] = set()
    for _ in range(_MOST_CYCLES):
        cycle = find_cycle([step for step in steps if step.name not in on_cycle])
        if cycle is None:
            break
        on_cycle |= set(cycle)
        place = f"steps[{draft.first_of[cycle[0]]}].depends_on"
        findings.add(place, f"the steps depend on each other in a circle: {_round(cycle)}")
    if on_cycle:
        _check_behind(draft, steps, on_cycle, findings)


def _check_behind(draft: Draft, steps: list[Step], on_cycle: set[str], findings: Findings) -> None:
    known = draft.names
    reached = depths([_with_known(step, known) for step in steps])
    for step in steps:
        if step.name not in reached and step.name not in on_cycle:
            place = f"steps[{draft.first_of[step.name]}].depends_on"
            findings.add(place, f"step '{step.name:.255}' can never start: it is behind a circle of dependencies")


def _round(cycle: list[str]) -> str:
    if len(cycle) <= _NAMED:
        return " -> ".join([*cycle, cycle[0]])
    shown = " -> ".join(cycle[: _NAMED - 1])
    return f"{shown} -> ... ({len(cycle) - _NAMED + 1} more) -> {cycle[0]}"


def _without_self(step: Step) -> Step:
    if all(edge.step != step.name for edge in step.depends_on):
        return step
    return replace(step, depends_on=tuple(edge for edge in step.depends_on if edge.step != step.name))


def _with_known(step: Step, known: dict[str, Step]) -> Step:
    if all(edge.step in known for edge in step.depends_on):
        return step
    return replace(step, depends_on=tuple(edge for edge in step.depends_on if edge.step in known))
