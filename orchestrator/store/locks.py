"""Advisory locks: one dispatcher a queue, one coordinator a duty."""

from __future__ import annotations

from sqlalchemy import Connection, text

_TRY = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 20261129))")


def try_lock(conn: Connection, name: str) -> bool:
    """Take the named lock until the transaction's end; False when someone else holds it."""
    return bool(conn.execute(_TRY, {"name": name}).scalar_one())
