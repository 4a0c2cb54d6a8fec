"""Small pictures of numbers over time, as what a template draws: without script, readable without colour too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from orchestrator.domain.times import duration

HEIGHT = 96.0
STEP = 10  # the width of one bucket
# From the bottom up: what went wrong stands on top, where it is seen.
_ORDER = ("succeeded", "running", "pending", "paused", "canceling", "canceled", "failed")
_LEAST = 2.0


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar."""

    status: str
    y: str
    height: str


@dataclass(frozen=True, slots=True)
class Bar:
    """The runs of one bucket; `url` shows them."""

    x: int
    since: datetime
    until: datetime
    counts: Mapping[str, int]
    parts: Sequence[Part]
    url: str


@dataclass(frozen=True, slots=True)
class Scale:
    """What the top and the middle of a picture stand for, in words."""

    top: str
    middle: str


def bar(
    place: int, since: datetime, until: datetime, counts: Mapping[str, int], most: int, url: str, height: float
) -> Bar:
    """What occurs can be seen, however rare, and all of it fits."""
    heights = {name: max(height * counts[name] / max(most, 1), _LEAST) for name in _ORDER if counts.get(name)}
    scale = min(1.0, height / (sum(heights.values()) or 1.0))
    parts, y = [], height
    for status, own in heights.items():
        y -= own * scale
        parts.append(Part(status, f"{max(y, 0.0):.2f}", f"{own * scale:.2f}"))
    return Bar(place * STEP, since, until, counts, parts, url)


def nice(value: float) -> float:
    """The next number of one digit followed by noughts: 1, 2, 5, 10, 20, 50."""
    if value <= 0:
        return 1.0
    base = 10.0 ** math.floor(math.log10(value))
    return next(base * step for step in (1, 2, 5, 10) if base * step >= value)


def count_scale(most: int) -> tuple[int, Scale]:
    """The number at the top of a picture in which `most` is the highest."""
    top = max(int(nice(most)), 2)
    return top, Scale(f"{top:,}", f"{top // 2:,}")


def time_scale(most: float) -> tuple[float, Scale]:
    """The same for seconds."""
    top = nice(most)
    return top, Scale(duration(top), duration(top / 2))


def line(values: Sequence[float | None], top: float) -> str:
    """The path through the middle of each bucket; where there is no value the line is broken.

    A value by itself is a short stroke.
    """
    drawn: list[str] = []
    for place, value in enumerate(values):
        if value is None:
            continue
        x, y = place * STEP + STEP / 2, HEIGHT - HEIGHT * min(value / top, 1.0)
        before, after = _at(values, place - 1), _at(values, place + 1)
        if before is not None:
            drawn.append(f"L{x:g} {y:.2f}")
        else:
            drawn.append(f"M{x:g} {y:.2f}" if after is not None else f"M{x - 3:g} {y:.2f}h6")
    return "".join(drawn)


def _at(values: Sequence[float | None], place: int) -> float | None:
    return values[place] if 0 <= place < len(values) else None
