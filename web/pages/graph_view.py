"""The graph of a definition as a template draws it: nothing in it lives, so it needs no script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.domain.drawing.chart import chart
from orchestrator.domain.drawing.looks import shortened
from orchestrator.domain.graph import Plan

_MARGIN = 16
_NAME, _NOTE = 22, 26  # columns of text that a box has room for
_KINDS = {"workflow": "sub-workflow", "wait_for": "waits", "sleep": "sleeps", "items": "for each item", "pass": ""}


def graph_view(plan: Plan) -> dict[str, Any]:
    """`nodes`, `lines`, and how large the picture is."""
    drawn = chart(plan)
    width, height = drawn["size"]
    boxes = [_box(box) for box in drawn["nodes"]]
    right = max((box["x"] for box in boxes), default=0) + width + 2 * _MARGIN
    bottom = max((box["y"] for box in boxes), default=0) + height + 2 * _MARGIN
    return {
        "nodes": boxes,
        "lines": [_line(*line) for line in drawn["lines"]],
        "size": (width, height),
        "box": f"{-_MARGIN} {-_MARGIN} {right:g} {bottom:g}",
        "width": f"{right:g}",
        "height": f"{bottom:g}",
        "steps": drawn["steps"],
    }


def _box(box: dict[str, Any]) -> dict[str, Any]:
    sub = " · ".join(part for part in (_KINDS.get(box["kind"], ""), box["note"]) if part)
    return box | {"short": shortened(box["label"], _NAME), "sub": shortened(sub, _NOTE) if sub else ""}


def _line(source: int, target: int, on: str, words: str, points: Sequence[float]) -> dict[str, Any]:
    """As graph.js draws the lines of a run."""
    x, y = points[0], points[1]
    drawn = [f"M{x:g} {y:g}"]
    for left, middle in zip(points[2::2], points[3::2], strict=True):
        bend = (x + left) / 2
        drawn.append(f"H{left:g}" if middle == y else f"C{bend:g} {y:g} {bend:g} {middle:g} {left:g} {middle:g}")
        x, y = left, middle
    return {"on": on, "d": "".join(drawn), "words": shortened(words, 18), "x": f"{x - 30:g}", "y": f"{y - 5:g}"}
