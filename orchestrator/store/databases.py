"""Databases of a Postgres server: made, copied and dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from orchestrator.errors import Unreachable

_MAINTENANCE = "postgres"


def ensure_database(url: str) -> None:
    """Make the database that `url` names, unless it is there. Raises `Unreachable`."""
    name = make_url(url).database
    with _server(url) as conn:
        if name is not None and not _exists(conn, name):
            conn.exec_driver_sql(f"CREATE DATABASE {_quoted(name)}")


def copy_database(url: str, name: str) -> str:
    """Make database `name` as a copy of the one at `url`, which nobody may be connected to; its URL."""
    template = make_url(url).database or ""
    with _server(url) as conn:
        conn.exec_driver_sql(f"CREATE DATABASE {_quoted(name)} TEMPLATE {_quoted(template)}")
    return make_url(url).set(database=name).render_as_string(hide_password=False)


def drop_database(url: str) -> None:
    """Drop the database that `url` names, ending its connections."""
    with _server(url) as conn:
        conn.exec_driver_sql(f"DROP DATABASE IF EXISTS {_quoted(make_url(url).database or '')} WITH (FORCE)")


@contextmanager
def _server(url: str) -> Iterator[Connection]:
    """A connection outside any transaction to the server's maintenance database."""
    engine = create_engine(make_url(url).set(database=_MAINTENANCE), poolclass=NullPool, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as conn:
            yield conn
    except OperationalError as error:
        raise Unreachable(f"cannot reach Postgres: {str(error.orig).strip()}") from error


def _exists(conn: Connection, name: str) -> bool:
    found = conn.scalar(text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": name})
    return found is not None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
