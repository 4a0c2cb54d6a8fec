"""A plan in Mermaid's language."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.domain.drawing.looks import Statuses, edge_words, start_words, status_words, title
from orchestrator.domain.graph import Plan, PlanStep

# Everything that Mermaid or the HTML and Markdown in it could read as more than text.
_SPECIAL = re.compile(r"[^\w \u0080-\U0010ffff]", re.ASCII)
_CLASSES = {
    "succeeded": "fill:#d7f0dd,stroke:#1b7f3b,color:#111",
    "failed": "fill:#f9d4d4,stroke:#b3261e,color:#111,stroke-width:3px",
    "upstream_failed": "fill:#fae6d3,stroke:#b3261e,color:#111,stroke-dasharray:5 3",
    "running": "fill:#d5e6fb,stroke:#1a5fb4,color:#111,stroke-width:3px",
    "canceled": "fill:#f5ecc6,stroke:#8a6d00,color:#111",
    "skipped": "fill:#ececec,stroke:#777,color:#111,stroke-dasharray:2 3",
}


def draw_mermaid(plan: Plan, statuses: Statuses | None) -> str:
    """A flowchart, left to right. Steps are `s0`, `s1`, ... and every special character of a name is an entity."""
    lines = ["flowchart LR"]
    for placed in plan.steps:
        lines.append(f'  s{placed.position}["{_label(placed, statuses)}"]')
    for placed in plan.handlers.values():
        lines.append(f'  s{placed.position}(["{_label(placed, statuses)}"])')
    lines += [f"  {line}" for step in plan.steps for line in _edges(plan, step)]
    return "\n".join([*lines, *_classes(plan, statuses or {}), ""])


def _label(placed: PlanStep, statuses: Statuses | None) -> str:
    status = (statuses or {}).get(placed.name)
    said = [title(placed.step), status_words(status), start_words(placed.step)]
    return "<br/>".join(_escaped(part) for part in said if part)


def _edges(plan: Plan, step: PlanStep) -> Iterator[str]:
    for source in step.sources:
        edges = [edge for _, edge in step.edges_from(plan.at(source).name)]
        words = edge_words(edges)
        arrow = "-->" if not words else "-.->"
        yield f"s{source} {arrow}" + (f'|"{_escaped(words)}"| ' if words else " ") + f"s{step.position}"


def _classes(plan: Plan, statuses: Statuses) -> Iterator[str]:
    for status, look in _CLASSES.items():
        placed = [step.position for step in (*plan.steps, *plan.handlers.values()) if statuses.get(step.name) == status]
        if placed:
            yield f"  classDef {status} {look}"
            yield f"  class {','.join(f's{position}' for position in placed)} {status}"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"#{ord(found.group())};", text)
