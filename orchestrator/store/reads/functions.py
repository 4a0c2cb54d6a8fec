"""The functions workers have announced."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, text

from orchestrator.store.reads.page import iso

_LIST = text("SELECT name, module, queue, description, input_schema, seen_at FROM functions ORDER BY name")


def list_functions(conn: Connection) -> list[dict[str, Any]]:
    """Every function, by name; `seen_at` is when a worker last announced it."""
    return [dict(row._mapping) | {"seen_at": iso(row.seen_at)} for row in conn.execute(_LIST)]
