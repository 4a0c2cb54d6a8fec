"""The bars of the timeline, in a box 1000 wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from orchestrator.domain.times import duration
from orchestrator.store.reads import StepBrief
from orchestrator.store.reads.step_rows import Span
from web.lasting import between

WIDTH = 1000.0
_LEAST = 2.0
# How an attempt ended, as the status it is drawn like.
_LIKE = {
    "retry_later": "queued",
    "timed_out": "failed",
    "lost": "upstream_failed",
    "suspended": "waiting",
    "retry": "pending",
}
_TICKS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400, 604800)
_MOST_TICKS = 8


@dataclass(frozen=True, slots=True)
class Bar:
    """`status` is what it is drawn like, `told` what it means, `thin` that nothing ran."""

    x: str
    width: str
    status: str
    told: str
    thin: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """`ticks`: places and words. `bars`: by position of the step."""

    since: datetime
    until: datetime
    bars: Mapping[int, Sequence[Bar]]
    ticks: Sequence[tuple[str, str]]


def draw_timeline(steps: Sequence[StepBrief], spans: Sequence[Span], now: datetime) -> Timeline | None:
    """From the first moment of these steps to the last; None when nothing of them has begun."""
    if not spans:
        return None
    since = min(span.since for span in spans)
    until = max(max(span.until or now for span in spans), since + timedelta(milliseconds=10))
    scale = WIDTH / (until - since).total_seconds()
    bars: dict[int, list[Bar]] = {step.position: [] for step in steps}
    for span in _with_pauses(spans):
        x = (span.since - since).total_seconds() * scale
        width = max(((span.until or now) - span.since).total_seconds() * scale, _LEAST)
        bars[span.position].append(_bar(span, min(x, WIDTH - _LEAST), width, now))
    return Timeline(since, until, bars, list(_ticks(until - since)))


def _bar(span: Span, x: float, width: float, now: datetime) -> Bar:
    lasted = between(span.since, span.until or now)
    status = _LIKE.get(span.kind, span.kind)
    words = {"queued": "ready, waiting to be started", "retry": "waiting for the next attempt"}
    told = words.get(span.kind) or f"attempt {span.attempt}: {span.kind.replace('_', ' ')}"
    return Bar(f"{x:.1f}", f"{width:.1f}", status, f"{told}, {lasted}", span.kind in ("queued", "retry"))


def _with_pauses(spans: Sequence[Span]) -> Iterator[Span]:
    """The spans, and what lies between the attempts of a step."""
    last: dict[int, Span] = {}
    for span in sorted(spans, key=lambda span: (span.position, span.since)):
        before = last.get(span.position)
        if before is not None and before.kind != "queued" and before.until is not None and before.until < span.since:
            yield Span(span.position, "retry", before.until, span.since, span.attempt)
        yield span
        last[span.position] = span


def _ticks(length: timedelta) -> Iterator[tuple[str, str]]:
    seconds = length.total_seconds()
    step = next((step for step in _TICKS if seconds / step <= _MOST_TICKS), _TICKS[-1])
    for place in range(int(min(seconds / step, 40)) + 1):
        at = place * step
        words = f"{at:g} s" if at < 60 else duration(at)
        yield f"{100 * at / seconds:.2f}", words
