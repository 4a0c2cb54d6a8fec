"""Debian's PgBouncer before a database of the tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg2
from sqlalchemy.engine import make_url

from orchestrator.config_urls import psql_url
from orchestrator.embedded.ports import LOOPBACK
from orchestrator.embedded.server import launch
from tests.processes import unused_port
from tests.support import program

CONNECTIONS = 3  # to Postgres, for all processes together
_SETTINGS = """
[databases]
{name} = host={host} port={port} user={user} password='{password}'
[pgbouncer]
listen_addr = {listen_host}
listen_port = {listen_port}
unix_socket_dir =
auth_type = any
admin_users = any
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
"""


@contextmanager
def pgbouncer(database_url: str, folder: Path) -> Iterator[str]:
    """The URL of the same database through a pool of `CONNECTIONS`, in transaction mode."""
    url, port = make_url(database_url), unused_port()
    place = {"name": url.database, "host": url.host, "port": url.port, "user": url.username, "password": url.password}
    settings = folder / "pgbouncer.ini"
    settings.write_text(_SETTINGS.format(**place, listen_host=LOOPBACK, listen_port=port, connections=CONNECTIONS))
    as_other = ["-u", "nobody"] if os.geteuid() == 0 else []  # it refuses to be root
    server = launch(
        "pgbouncer",
        [program("pgbouncer"), *as_other, str(settings)],
        log=folder / "pgbouncer.log",
        stop_signal=signal.SIGINT,
        cwd=folder,
    )
    pooled = url.set(host=LOOPBACK, port=port, password=None).render_as_string()
    try:
        server.wait_ready(lambda: _answers(pooled), 60)
        yield pooled
    finally:
        server.stop(10)


def _answers(url: str) -> bool:
    try:
        psycopg2.connect(psql_url(url)).close()
    except psycopg2.OperationalError:
        return False
    return True


def server_connections(url: str) -> int:
    """How many connections to Postgres PgBouncer holds for the database of its URL."""
    database = make_url(url).database
    console = psycopg2.connect(psql_url(make_url(url).set(database="pgbouncer").render_as_string()))
    console.autocommit = True
    with console.cursor() as cursor:
        cursor.execute("SHOW SERVERS")
        assert cursor.description is not None
        column = [described.name for described in cursor.description].index("database")
        found = sum(row[column] == database for row in cursor.fetchall())
    console.close()
    return found
