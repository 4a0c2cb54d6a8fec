"""A word to the coordinators that there is something to dispatch, by NOTIFY; one that is lost costs a tick's wait."""

from __future__ import annotations

import select
from collections.abc import Callable

from psycopg2 import Error as DriverError
from psycopg2 import extensions
from sqlalchemy import Connection

from orchestrator.errors import Unreachable
from orchestrator.store.db import Database

CHANNEL = "orchestrator"
# Transactions that notify commit one after another, behind one lock of the whole server: not one waits for the disk.
_RING = "SELECT set_config('synchronous_commit', 'off', true), CAST(pg_notify(%s, '') AS text)"


class Pooled(Exception):
    """Between us and Postgres is a pooler, which gives each transaction another connection: nothing would be heard."""


def ring(db: Database) -> None:
    """Tell the coordinators, in a transaction of its own; raises `Unreachable`."""
    db.call(_RING, [CHANNEL])


def ring_at_commit(connection: Connection) -> None:
    """Tell the coordinators once the connection's transaction is committed."""
    connection.exec_driver_sql("SELECT pg_notify(%s, '')", (CHANNEL,))


class Ear:
    """A connection that hears when somebody rings."""

    def __init__(self, connect: Callable[[], extensions.connection]) -> None:
        """Raises `Unreachable`, and `Pooled`."""
        self._connection = connect()
        self._watched = select.poll()
        try:
            self._connection.autocommit = True
            with self._connection.cursor() as cursor:
                # A pooler answers for itself when a connection is made, and hands on what is asked after that.
                cursor.execute("SELECT pg_backend_pid()")
                found = cursor.fetchone()
                if found is None or found[0] != self._connection.get_backend_pid():
                    raise Pooled("the connection goes through a pooler")
                cursor.execute(f'LISTEN "{CHANNEL}"')
            self._watched.register(self._connection.fileno(), select.POLLIN)
        except DriverError as error:
            self.close()
            raise Unreachable(f"cannot listen: {' '.join(str(error).split())}") from error
        except Pooled:
            self.close()
            raise

    def wait(self, seconds: float) -> bool:
        """Wait so long at the most until somebody rings; whether somebody has. Raises `Unreachable`."""
        if not self._watched.poll(seconds * 1000):
            return False
        try:
            self._connection.poll()
        except DriverError as error:
            raise Unreachable(f"the connection to listen by is gone: {' '.join(str(error).split())}") from error
        heard = bool(self._connection.notifies)
        self._connection.notifies.clear()
        return heard

    def close(self) -> None:
        self._connection.close()
