"""The engine's clock, moved for the rest of a transaction (tests only)."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, text

from orchestrator.clock import OFFSET_SETTING

_SHIFT = text("SELECT set_config(:setting, :offset, true)")


def shift(conn: Connection, offset: timedelta) -> None:
    """Let the clock run `offset` (which may be negative) ahead of the transaction's time."""
    shown = f"{offset.total_seconds():.6f} seconds"
    conn.execute(_SHIFT, {"setting": OFFSET_SETTING, "offset": shown})


def offset_to(conn: Connection, at: datetime) -> timedelta:
    """How far `at` is ahead of the transaction's time."""
    ahead: timedelta = conn.execute(text("SELECT CAST(:at AS timestamptz) - now()"), {"at": at}).scalar_one()
    return ahead
