"""Bar charts as SVG pictures that need nothing else: no script, no font, no other file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from orchestrator.bench.sheets import shown
from orchestrator.bench.summary import own_groups, peer_groups
from orchestrator.bench.workloads import OURS

_WIDTH, _MARGIN, _NAMES, _VALUES = 760, 20, 150, 90
_BAR, _GAP, _HEAD = 16, 6, 34
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1b1f24; } .title { font-size: 14px; font-weight: 600; }
.name { text-anchor: end; } .value { fill: #57606a; } rect.bar { fill: #afb8c1; } rect.ours { fill: #1a5fb4; }
"""


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart: bars by name, the longest first or last as `values` has them."""

    title: str
    values: Mapping[str, float]
    digits: int = 0


def plots(results: Mapping[str, Any]) -> dict[str, str]:
    """The pictures that have something to show, by file name."""
    found = {"throughput.svg": list(_throughput(results)), "gaps.svg": list(_gaps(results))}
    return {name: draw(panels) for name, panels in found.items() if panels}


def _throughput(results: Mapping[str, Any]) -> Iterator[Panel]:
    """Beside the peers where they were measured, else ours alone."""
    for (workload, size), labels in peer_groups(results).items():
        values = {label: group.median("steps_per_s") or 0.0 for label, group in labels.items()}
        yield Panel(f"{workload} {size}: steps/s", dict(sorted(values.items(), key=lambda item: -item[1])))
    if not results["peers"]:
        groups = {key: group for key, group in own_groups(results).items() if group.median("p50_gap_ms") is not None}
        for slots in dict.fromkeys(slots for _, _, slots in groups):
            own = {f"{name} {size}": group for (name, size, count), group in groups.items() if count == slots}
            values = {name: group.median("steps_per_s") or 0.0 for name, group in own.items()}
            yield Panel(f"steps/s, {slots} slots", values)


def _gaps(results: Mapping[str, Any]) -> Iterator[Panel]:
    for (workload, size), labels in peer_groups(results).items():
        if workload == "W4":
            values = {label: group.median("p50_step_gap_ms") or 0.0 for label, group in labels.items()}
            ordered = dict(sorted(values.items(), key=lambda item: item[1]))
            yield Panel(f"{workload} {size}: median gap between two steps, ms", ordered, 2)


def draw(panels: Sequence[Panel]) -> str:
    """The panels below one another; bars of ours stand out."""
    parts, top = [], _MARGIN
    for panel in panels:
        parts.append(f'<text class="title" x="{_MARGIN}" y="{top + 14}">{escape(panel.title)}</text>')
        parts += _bars(panel, top + _HEAD)
        top += _HEAD + len(panel.values) * (_BAR + _GAP) + _MARGIN
    label = "; ".join(panel.title for panel in panels)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" viewBox="0 0 {_WIDTH} {top}"'
        f' role="img" aria-label={quoteattr(label)}>'
    )
    ground = f'<rect width="{_WIDTH}" height="{top}" fill="#fff"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", ground, *parts, "</svg>", ""])


def _bars(panel: Panel, top: int) -> Iterator[str]:
    most, room = max(panel.values.values(), default=0.0) or 1.0, _WIDTH - 2 * _MARGIN - _NAMES - _VALUES
    left = _MARGIN + _NAMES
    for index, (name, value) in enumerate(panel.values.items()):
        y, long = top + index * (_BAR + _GAP), max(1, round(room * value / most))
        kind = "bar ours" if name.startswith(OURS) else "bar"
        yield f'<text class="name" x="{left - 8}" y="{y + 12}">{escape(name)}</text>'
        yield f'<rect class="{kind}" x="{left}" y="{y}" width="{long}" height="{_BAR}" rx="2"/>'
        yield f'<text class="value" x="{left + long + 6}" y="{y + 12}">{shown(value, panel.digits)}</text>'
