"""Draws the Mermaid diagrams of the pages as SVG, into `drawn/`: `make docs`.

Mermaid itself draws in the browser, with inline styles, which the content security policy refuses. Colours and fonts of
the pictures are those of `site.css`. Two kinds of diagrams are known, those that the pages have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path

from orchestrator.domain.drawing.layout import Item, lay_out_graph

_MOVE = re.compile(r"^\s*(\S+) --> (\S+)\s*$", re.MULTILINE)
_PARTICIPANT = re.compile(r"^\s*participant (\w+) as (.+)$", re.MULTILINE)
_SAID = re.compile(r"^\s*(\w+)->>(\w+): (.+)$|^\s*Note over (\w+): (.+)$", re.MULTILINE)
_WIDTH, _HEIGHT, _COLUMN, _ROW = 128, 34, 190, 62
_LANE, _STEP = 230, 52
_DOCS = Path(__file__).parents[1]
_MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pictures() -> dict[str, str]:
    """The pictures of all pages by the names of their files."""
    texts = [text for page in sorted(_DOCS.rglob("*.md")) for text in _MERMAID.findall(page.read_text())]
    return {f"{sha256(text.encode()).hexdigest()[:12]}.svg": draw(text) + "\n" for text in texts}


def write() -> None:
    """Leaves those that are needed."""
    folder = Path(__file__).with_name("drawn")
    folder.mkdir(exist_ok=True)
    made = pictures()
    for old in folder.glob("*.svg"):
        if old.name not in made:
            old.unlink()
    for name, picture in made.items():
        (folder / name).write_text(picture)


def draw(text: str) -> str:
    """One line of markup for a diagram's text; raises `ValueError` for a kind that is not known here."""
    kind = text.split(maxsplit=1)[0]
    if kind == "stateDiagram-v2":
        return _states(_MOVE.findall(text))
    if kind == "sequenceDiagram":
        return _sequence(dict(_PARTICIPANT.findall(text)), _SAID.findall(text))
    raise ValueError(f"docs/site/diagrams.py draws no {kind}")


def _svg(width: float, height: float, name: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="diagram" xmlns="http://www.w3.org/2000/svg" width="{width:g}" viewBox="0 0 {width:g} {height:g}"'
        f' role="img" aria-label="{escape(name)}">{"".join(parts)}</svg>'
    )


def _states(moves: list[tuple[str, str]]) -> str:
    """States in columns; moves back to an earlier one are dashed."""
    names = list(dict.fromkeys(name for move in moves for name in move if name != "[*]"))
    first = {target for source, target in moves if source == "[*]"}
    last = {source for source, target in moves if target == "[*]"}
    order = {
        name: place for place, name in enumerate(sorted(names, key=lambda name: (name in last, names.index(name))))
    }
    pairs = [(order[a], order[b]) for a, b in moves if a in order and b in order]
    sources = [sorted(a for a, b in pairs if b == place and a < b) for place in range(len(order))]
    layout = lay_out_graph(sources)
    items = {item.position: item for column in layout.columns for item in column if item.position is not None}
    lines = [_line(list(route.items)) for route in layout.routes]
    lines += [_back(items[a], items[b]) for a, b in pairs if a > b]
    boxes = [_state(items[place], name, name in first, name in last) for name, place in order.items()]
    width = (len(layout.columns) - 1) * _COLUMN + _WIDTH + 8
    told = "; ".join(f"{source} to {target}" for source, target in moves if "[*]" not in (source, target))
    return _svg(width, layout.height * _ROW + 40, f"Moves of a status: {told}", [*lines, *boxes])


def _place(item: Item) -> tuple[float, float]:
    """The left end and the middle of an item."""
    return 4 + item.column * _COLUMN, round(20 + item.y * _ROW + _ROW / 2, 1)


def _state(item: Item, name: str, first: bool, last: bool) -> str:
    x, y = _place(item)
    kind = "first" if first else "last" if last else "between"
    box = f'<rect class="{kind}" x="{x:g}" y="{y - _HEIGHT / 2:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>'
    return f'{box}<text x="{x + _WIDTH / 2:g}" y="{y + 4:g}">{escape(name)}</text>'


def _line(items: list[Item]) -> str:
    x, y = _place(items[0])
    x += _WIDTH
    drawn = [f"M{x:g} {y:g}"]
    for item in items[1:]:
        left, middle = _place(item)
        bend = (left - x) / 2
        drawn.append(f"C{x + bend:g} {y:g} {left - bend:g} {middle:g} {left:g} {middle:g}")
        x, y = left + (_WIDTH if item.position is None else 0), middle
        drawn += [f"H{x:g}"] if item.position is None else []
    return f'<path class="line" d="{"".join(drawn)}"/>{_head(x, y, 1)}'


def _back(source: Item, target: Item) -> str:
    """A move to a state further left, from bottom to bottom; within a column, beside it."""
    (x, y), (left, middle) = _place(source), _place(target)
    if source.column == target.column:
        bent = (
            f"M{x + _WIDTH:g} {y:g}C{x + _WIDTH + 34:g} {y:g} {x + _WIDTH + 34:g} {middle:g} {x + _WIDTH:g} {middle:g}"
        )
        return f'<path class="line back" d="{bent}"/>{_head(x + _WIDTH, middle, -1)}'
    x, y, left, middle = x + _WIDTH / 3, y + _HEIGHT / 2, left + 2 * _WIDTH / 3, middle + _HEIGHT / 2
    low = max(y, middle) + 20
    return f'<path class="line back" d="M{x:g} {y:g}C{x:g} {low:g} {left:g} {low:g} {left:g} {middle + 6:g}"/>' + (
        f'<path class="head" d="M{left:g} {middle:g}l-4 7h8z"/>'
    )


def _head(x: float, y: float, way: int) -> str:
    return f'<path class="head" d="M{x:g} {y:g}l{-8 * way} -4v8z"/>'


def _sequence(names: dict[str, str], said: list[tuple[str, ...]]) -> str:
    """Participants as lanes from left to right, what they say from the top down."""
    lanes = {key: 100 + place * _LANE for place, key in enumerate(names)}
    bottom = 60 + len(said) * _STEP
    parts = [
        f'<path class="lane" d="M{x} 44V{bottom}"/>'
        f'<rect class="first" x="{x - 90}" y="8" width="180" height="34" rx="6"/>'
        f'<text x="{x}" y="29">{escape(names[key])}</text>'
        for key, x in lanes.items()
    ]
    for place, one in enumerate(said):
        parts += _message(lanes, one, 76 + place * _STEP)
    told = "; ".join(f"{names[one[0]]} to {names[one[1]]}: {one[2]}" if one[0] else one[4] for one in said)
    return _svg(200 + (len(names) - 1) * _LANE, bottom + 8, told, parts)


def _message(lanes: dict[str, int], said: tuple[str, ...], y: int) -> Iterator[str]:
    source, target, text, over, note = said
    if over:
        yield _words(note, lanes[over], y + 2, "note")
        return
    begin, end = lanes[source], lanes[target]
    if begin == end:
        yield f'<path class="line" d="M{begin} {y - 4}h36v18h-28"/>{_head(begin, y + 14, -1)}'
        yield _words(text, begin + 44, y + 8, "said begin")
        return
    way = 1 if end > begin else -1
    yield f'<path class="line" d="M{begin} {y + 12}H{end - 4 * way}"/>{_head(end, y + 12, way)}'
    yield _words(text, (begin + end) / 2, y - 8, "said")


def _words(text: str, x: float, y: float, kind: str) -> str:
    """Two lines at most."""
    words, half = text.split(), len(text) / 2
    cut = next((n for n in range(len(words)) if len(" ".join(words[: n + 1])) >= half), 0) + 1 if len(text) > 30 else 99
    lines = [" ".join(words[:cut]), " ".join(words[cut:])]
    spans = [
        f'<tspan x="{x:g}" dy="{14 if n else 0}">{escape(line)}</tspan>' for n, line in enumerate(filter(None, lines))
    ]
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{"".join(spans)}</text>'


if __name__ == "__main__":
    write()
