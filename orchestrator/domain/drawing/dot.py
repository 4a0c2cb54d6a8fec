"""A plan in Graphviz's language."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.domain.drawing.looks import Statuses, edge_words, shown, start_words, status_words, title
from orchestrator.domain.graph import Plan, PlanStep

_COLOURS = {
    "succeeded": "#d7f0dd",
    "failed": "#f9d4d4",
    "upstream_failed": "#fae6d3",
    "running": "#d5e6fb",
    "queued": "#e6effb",
    "ready": "#e6effb",
    "waiting": "#e6effb",
    "canceled": "#f5ecc6",
    "skipped": "#ececec",
}
_STYLES = {"failure": "dashed", "complete": "bold", "skipped": "dotted"}


def draw_dot(plan: Plan, statuses: Statuses | None) -> str:
    """A digraph, left to right. Steps are `s0`, `s1`, ... so that their names cannot be anything but labels."""
    lines = [f"digraph {_quoted(plan.definition.name)} {{", "  rankdir=LR;"]
    lines.append('  node [shape=box, style="rounded,filled", fillcolor="white", fontname="Helvetica"];')
    lines.append('  edge [fontname="Helvetica", fontsize=10];')
    lines += [f"  {_step(step, statuses, '')}" for step in plan.steps]
    lines += [f"  {_step(step, statuses, 'dashed,')}" for step in plan.handlers.values()]
    lines += [f"  {line}" for step in plan.steps for line in _edges(plan, step)]
    return "\n".join([*lines, "}", ""])


def _step(placed: PlanStep, statuses: Statuses | None, style: str) -> str:
    status = (statuses or {}).get(placed.name)
    said = [title(placed.step), status_words(status), start_words(placed.step)]
    label = "\\n".join(_escaped(part) for part in said if part)
    fill = _COLOURS.get(status or "", "#ffffff")
    extra = f', style="{style}rounded,filled"' if style else ""
    return f's{placed.position} [label="{label}", tooltip={_quoted(placed.name)}, fillcolor="{fill}"{extra}];'


def _edges(plan: Plan, step: PlanStep) -> Iterator[str]:
    for source in step.sources:
        edges = [edge for _, edge in step.edges_from(plan.at(source).name)]
        words = edge_words(edges)
        style = _STYLES.get(edges[0].on.value, "solid")
        told = f' [label="{_escaped(words)}", style={style}]' if words else ""
        yield f"s{source} -> s{step.position}{told};"


def _quoted(text: str) -> str:
    return f'"{_escaped(shown(text))}"'


def _escaped(text: str) -> str:
    """Graphviz reads backslashes, quotes and HTML entities in a label."""
    return text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
