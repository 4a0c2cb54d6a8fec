"""Databases of a Postgres server: made, copied and dropped."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg2.errors import ObjectInUse
from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from orchestrator.errors import Conflict, Unreachable

log = logging.getLogger(__name__)
_MAINTENANCE = "postgres"


def ensure_database(url: str) -> None:
    """Make the database that `url` names, unless it is there. Raises `Unreachable`."""
    name = make_url(url).database
    with _server(url) as conn:
        if name is not None and not _exists(conn, name):
            conn.exec_driver_sql(f"CREATE DATABASE {_quoted(name)}")


def is_sealed(url: str) -> bool:
    """Whether the database that `url` names is there, and nobody can connect to it. Raises `Unreachable`."""
    closed = text("SELECT 1 FROM pg_database WHERE datname = :name AND NOT datallowconn")
    with _server(url) as conn:
        return conn.scalar(closed, {"name": make_url(url).database}) is not None


def seal_database(url: str) -> None:
    """Let nobody connect to the database any more, and end who is: from now on it can be copied at any time."""
    name = make_url(url).database or ""
    end = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name")
    with _server(url) as conn:
        conn.exec_driver_sql(f"ALTER DATABASE {_quoted(name)} ALLOW_CONNECTIONS false")
        conn.execute(end, {"name": name})


def copy_database(url: str, name: str, *, patience: float = 30.0) -> str:
    """Make database `name` as a copy of the one at `url`; its URL.

    Nobody may be connected to the original; who is gets `patience` seconds to leave. Raises `Unreachable`, and
    `Conflict` naming who stays.
    """
    template = make_url(url).database or ""
    ends = time.monotonic() + patience
    with _server(url) as conn:
        while not _copied(conn, template, name):
            told = f"database '{template}' cannot be copied while it is used by {_users(conn, template)}"
            if time.monotonic() >= ends:
                raise Conflict(told)
            log.info("%s; trying again", told)
    return make_url(url).set(database=name).render_as_string(hide_password=False)


def _copied(conn: Connection, template: str, name: str) -> bool:
    """Copy it; False when it is in use, and still was after the five seconds for which Postgres itself waits."""
    try:
        # File by file, for a small database a third of the work of Postgres's usual way, through the WAL.
        conn.exec_driver_sql(f"CREATE DATABASE {_quoted(name)} TEMPLATE {_quoted(template)} STRATEGY FILE_COPY")
    except OperationalError as error:
        if isinstance(error.orig, ObjectInUse):
            return False
        raise
    return True


_USERS = text("""
SELECT coalesce(nullif(application_name, ''), backend_type) || ' (process ' || pid || ')' FROM pg_stat_activity
WHERE datname = :name ORDER BY pid
""")


def _users(conn: Connection, name: str) -> str:
    return ", ".join(conn.execute(_USERS, {"name": name}).scalars()) or "somebody who has just left"


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
