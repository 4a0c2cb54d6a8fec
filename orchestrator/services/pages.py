"""Read a list to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection

from orchestrator.store.db import Database
from orchestrator.store.reads import Page


def every(db: Database, read: Callable[[Connection, str | None], Page]) -> Iterator[dict[str, Any]]:
    """The items of every page that `read(connection, after)` gives, each page in a transaction of its own."""
    after: str | None = None
    while True:
        with db.transaction() as conn:
            page = read(conn, after)
        yield from page.items
        if page.next is None:
            return
        after = page.next
