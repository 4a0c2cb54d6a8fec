"""Time. The engine's clock is the database's: no due time, lease or deadline depends on a machine's own clock.

In production it is the transaction's time. `orchestrator.testing` moves it through one session setting.
"""

from __future__ import annotations

from datetime import UTC, datetime

NOW = "orchestrator_now()"  # the SQL function, made by the first migration
OFFSET_SETTING = "orchestrator.clock_offset"  # an SQL interval that is added to it


def aware(at: datetime) -> datetime:
    """`at` with its time zone; a naive time is UTC."""
    return at if at.tzinfo else at.replace(tzinfo=UTC)
