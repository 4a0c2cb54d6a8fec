"""Queries on databases of the user's own, for the function `sql.query`."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.exc import NoSuchModuleError
from sqlalchemy.pool import NullPool

from orchestrator.errors import Fail


def query(url: str, sql: str, parameters: Mapping[str, Any], max_rows: int) -> tuple[list[dict[str, Any]], int]:
    """Run one statement in a transaction of its own: its rows as JSON, and how many rows it gave or changed.

    Any database SQLAlchemy has a driver for; `postgres://` is Postgres. Raises `Fail` for an unusable URL, or more
    rows than `max_rows`; then nothing is changed.
    """
    with _engine(url).begin() as conn:
        result = conn.execute(text(sql), dict(parameters))
        if not result.returns_rows:
            return [], max(result.rowcount, 0)
        rows = result.mappings().fetchmany(max_rows + 1)
        if len(rows) > max_rows:
            raise Fail(f"the query gives more than {max_rows} rows (`max_rows`)")
        return [{str(name): _plain(value) for name, value in row.items()} for row in rows], len(rows)


def _engine(url: str) -> Any:
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise Fail("`url` must be a database URL like postgresql://user:password@host/database")
    if scheme in ("postgres", "postgresql"):
        scheme = "postgresql+psycopg2"
    try:
        return create_engine(f"{scheme}://{rest}", poolclass=NullPool)
    except (NoSuchModuleError, ImportError) as error:
        raise Fail(f"this worker has no driver for {scheme}:// databases: {error}") from error


def _plain(value: Any) -> Any:
    """Numbers and times keep every digit, as text where JSON has no type for them; bytes are Base64."""
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
