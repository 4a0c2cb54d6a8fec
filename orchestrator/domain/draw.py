"""A picture of a plan, for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchestrator.domain.drawing.dot import draw_dot
from orchestrator.domain.drawing.looks import Statuses
from orchestrator.domain.drawing.mermaid import draw_mermaid
from orchestrator.domain.drawing.svg import draw_svg
from orchestrator.domain.graph import Plan

FORMS: dict[str, Callable[[Plan, Statuses | None], str]] = {
    "dot": draw_dot,
    "mermaid": draw_mermaid,
    "svg": draw_svg,
}


def draw(plan: Plan, form: str, statuses: Mapping[str, str] | None = None) -> str:
    """The plan in Graphviz's or Mermaid's language, or as SVG; with `statuses` (step name to status) as a run is.

    No name of a step or workflow, whatever it holds, is anything but text in the picture. Raises `ValueError` for an
    unknown form.
    """
    if form not in FORMS:
        raise ValueError(f"there is no form '{form}', but {', '.join(FORMS)}")
    return FORMS[form](plan, statuses)
