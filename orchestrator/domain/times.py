"""Times as documents and people write them."""

from __future__ import annotations

from datetime import UTC, datetime

TEN_YEARS = 10 * 365 * 86400  # seconds; the longest anything may wait
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def read_time(text: str) -> datetime | None:
    """An ISO 8601 date and time (`2026-12-24T18:00:00Z`); without a zone it is UTC. None for anything else."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 05 s`, `2 h 07 min`, `3 d 4 h`."""
    seconds = max(seconds, 0.0)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02d} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def span(seconds: int) -> str:
    """Exactly so long, in the largest unit that fits: `5 s`, `15 min`, `1 h`, `90 s`, `7 d`."""
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds and seconds % unit == 0:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"
