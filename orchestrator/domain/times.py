"""Times as documents and people write them."""

from __future__ import annotations

from datetime import UTC, datetime

TEN_YEARS = 10 * 365 * 86400  # seconds; the longest anything may wait


def read_time(text: str) -> datetime | None:
    """An ISO 8601 date and time (`2026-12-24T18:00:00Z`); without a zone it is UTC. None for anything else."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
