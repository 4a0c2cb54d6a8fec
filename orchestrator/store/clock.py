"""The engine's clock: read, and moved for the rest of a transaction (tests only)."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, text

from orchestrator.clock import NOW, OFFSET_SETTING, aware

_SHIFT = text("SELECT set_config(:setting, :offset, true)")


def read_now(conn: Connection) -> datetime:
    """The time of this transaction by the engine's clock."""
    now: datetime = conn.execute(text(f"SELECT {NOW}")).scalar_one()
    return now


def shift(conn: Connection, offset: timedelta) -> None:
    """Let the clock run `offset` (which may be negative) ahead of the transaction's time."""
    shown = f"{offset.total_seconds():.6f} seconds"
    conn.execute(_SHIFT, {"setting": OFFSET_SETTING, "offset": shown})


def offset_to(conn: Connection, at: datetime) -> timedelta:
    """How far `at` is ahead of the transaction's time."""
    ahead: timedelta = conn.execute(text("SELECT CAST(:at AS timestamptz) - now()"), {"at": at}).scalar_one()
    return ahead


class Clock:
    """The engine's clock in a sandbox: the transaction's time plus what was skipped."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._skipped = timedelta(0)

    def skip(self, wait: timedelta) -> None:
        self._skipped += max(wait, timedelta(0))
        shift(self._connection, self._skipped)

    def move_to(self, at: datetime) -> None:
        """Set the clock to `at`, which may be in the past (a naive time is UTC)."""
        self._skipped = offset_to(self._connection, aware(at))
        shift(self._connection, self._skipped)
