"""The last runs of a workflow as a small picture: a bar each, oldest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.store.reads.workflow_rows import LastRun

SHOWN = 24
WIDTH, HEIGHT = 6, 22
_LEAST = 3.0


@dataclass(frozen=True, slots=True)
class Spark:
    """A bar; one that failed is as high as the picture, whatever it took, and has a notch."""

    x: int
    y: str
    height: str
    status: str


def sparks(runs: Sequence[LastRun], *, flush: bool = True) -> list[Spark]:
    """Bars for the newest runs, higher the longer a run took; `flush`: the newest stands at the right."""
    shown = list(reversed(runs[:SHOWN]))
    most = max((run.seconds or 0.0 for run in shown), default=0.0)
    first = SHOWN - len(shown) if flush else 0
    return [_spark(first + place, run, most) for place, run in enumerate(shown)]


def _spark(place: int, run: LastRun, most: float) -> Spark:
    height = _LEAST if run.seconds is None else max(HEIGHT * math.sqrt(run.seconds / (most or 1.0)), _LEAST)
    height = float(HEIGHT) if run.status == "failed" else height
    return Spark(place * WIDTH, f"{HEIGHT - height:.1f}", f"{height:.1f}", run.status)
