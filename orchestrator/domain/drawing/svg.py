"""A plan as an SVG picture that needs nothing else: no script, no font, no other file."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from orchestrator.domain.drawing.layout import Item, Layout, Route, lay_out
from orchestrator.domain.drawing.looks import (
    Statuses,
    edge_words,
    shortened,
    shown,
    start_words,
    status_words,
    title,
)
from orchestrator.domain.graph import Plan, PlanStep

_BOX_WIDTH, _BOX_HEIGHT = 196, 44
_COLUMN, _ROW = 304, 58
_MARGIN, _HEAD = 24, 56
_NAME_COLUMNS, _NOTE_COLUMNS = 21, 30

_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1b1f24; text-anchor: middle; unicode-bidi: plaintext; }
.name { font-weight: 600; } .note { font-size: 11px; fill: #57606a; }
.title { font-size: 17px; font-weight: 600; text-anchor: start; }
.on { font-size: 10.5px; fill: #444; paint-order: stroke; stroke: #fff; stroke-width: 4px; }
rect.step { fill: #fff; stroke: #6e7781; stroke-width: 1.2; rx: 7; }
.handler rect.step { stroke-dasharray: 6 4; rx: 20; }
.succeeded rect.step { fill: #dff3e4; stroke: #1b7f3b; }
.failed rect.step { fill: #fbdcda; stroke: #b3261e; stroke-width: 3; }
.upstream_failed rect.step { fill: #fdeedd; stroke: #b3261e; stroke-dasharray: 5 3; }
.running rect.step { fill: #dbeafd; stroke: #1a5fb4; stroke-width: 3; }
.queued rect.step, .ready rect.step, .waiting rect.step { fill: #eef5fe; stroke: #1a5fb4; }
.canceled rect.step { fill: #f8f0cf; stroke: #8a6d00; }
.skipped rect.step { fill: #f0f0f0; stroke: #777; stroke-dasharray: 2 3; }
path.edge { fill: none; stroke: #8c959f; stroke-width: 1.2; }
path.failure { stroke: #b3261e; stroke-dasharray: 6 4; } path.skipped { stroke-dasharray: 2 3; }
path.complete { stroke: #57606a; stroke-width: 2; }
"""


def draw_svg(plan: Plan, statuses: Statuses | None) -> str:
    """The steps in columns by depth, from left to right; lifecycle handlers in a row below them."""
    layout = lay_out(plan)
    body = int(layout.height * _ROW)
    handlers = list(plan.handlers.values())
    width = 2 * _MARGIN + (max(len(layout.columns), len(handlers), 2) - 1) * _COLUMN + _BOX_WIDTH
    height = _HEAD + body + _MARGIN + (_ROW + 8 if handlers else 0)
    name = shown(plan.definition.label or plan.definition.name)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label={quoteattr(name)}>',
            f"<title>{escape(name)}</title>",
            f"<style>{_STYLE}</style>",
            _arrow(),
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            f'<text class="title" x="{_MARGIN}" y="34">{escape(shortened(name, 90))}</text>',
            *_edges(plan, layout),
            *_steps(plan, layout, statuses or {}),
            *_handlers(handlers, _HEAD + body + 8, statuses or {}),
            "</svg>",
            "",
        ]
    )


def _arrow() -> str:
    return (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" fill="#6e7781"/></marker></defs>'
    )


def _steps(plan: Plan, layout: Layout, statuses: Statuses) -> Iterator[str]:
    for column in layout.columns:
        for item in column:
            if item.position is not None:
                placed = plan.steps[item.position]
                yield _box(placed, _left(item), _middle(item) - _BOX_HEIGHT / 2, statuses.get(placed.name), "")


def _handlers(handlers: list[PlanStep], top: float, statuses: Statuses) -> Iterator[str]:
    for index, placed in enumerate(handlers):
        yield _box(placed, _MARGIN + index * _COLUMN, top, statuses.get(placed.name), "handler ")


def _box(placed: PlanStep, left: float, top: float, status: str | None, kind: str) -> str:
    step = placed.step
    notes = [status_words(status), start_words(step)]
    note = " · ".join(part for part in notes if part) or shown(step.function or "pass")
    middle = left + _BOX_WIDTH / 2
    told = "\n".join(part for part in (shown(step.name), *notes) if part)
    return (
        f'<g class="{kind}{escape(status or "plain")}"><title>{escape(told)}</title>'
        f'<rect class="step" x="{left:g}" y="{top:g}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="7"/>'
        f'<text class="name" x="{middle:g}" y="{top + 18:g}">{escape(shortened(title(step), _NAME_COLUMNS))}</text>'
        f'<text class="note" x="{middle:g}" y="{top + 34:g}">{escape(shortened(note, _NOTE_COLUMNS))}</text></g>'
    )


def _edges(plan: Plan, layout: Layout) -> Iterator[str]:
    """The lines first and their words after them, so that no line goes through a word."""
    words = []
    for route in layout.routes:
        edges = [edge for _, edge in plan.steps[route.dependant].edges_from(plan.steps[route.source].name)]
        yield f'<path class="edge {edges[0].on.value}" d="{_line(route)}" marker-end="url(#arrow)"/>'
        said = edge_words(edges)
        if said:
            last, end = route.items[-2], route.items[-1]
            x, y = _left(end) - (_COLUMN - _BOX_WIDTH) / 2, (_middle(end) + _middle(last)) / 2
            words.append(f'<text class="on" x="{x:g}" y="{y - 3:g}">{escape(shortened(said, 20))}</text>')
    yield from words


def _line(route: Route) -> str:
    """A curve from the right of the source over its waypoints to the left of the dependant."""
    x, y = _left(route.items[0]) + _BOX_WIDTH, _middle(route.items[0])
    drawn = [f"M{x:g} {y:g}"]
    for item in route.items[1:]:
        left, middle = _left(item), _middle(item)
        bend = (left - x) / 2
        drawn.append(f"C{x + bend:g} {y:g} {left - bend:g} {middle:g} {left:g} {middle:g}")
        x, y = left, middle
        if item.position is None:
            x = left + _BOX_WIDTH
            drawn.append(f"H{x:g}")
    return "".join(drawn)


def _left(item: Item) -> float:
    return _MARGIN + item.column * _COLUMN


def _middle(item: Item) -> float:
    return round(_HEAD + item.y * _ROW + _ROW / 2, 1)
