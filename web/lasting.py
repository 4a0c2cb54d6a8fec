"""How long something lasted, in words."""

from __future__ import annotations

from datetime import datetime

from orchestrator.domain.times import duration

_SHORT = 0.0995  # seconds; less is told in milliseconds


def between(start: str | datetime, end: str | datetime) -> str:
    """How long from one moment to the other, in words."""
    seconds = (_moment(end) - _moment(start)).total_seconds()
    return duration(seconds) if seconds >= _SHORT or seconds < 0 else f"{seconds * 1000:.0f} ms"


def _moment(at: str | datetime) -> datetime:
    return datetime.fromisoformat(at) if isinstance(at, str) else at
