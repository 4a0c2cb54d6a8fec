"""The engine, and the one way to a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError, OperationalError

from orchestrator.errors import Unreachable


class Database:
    """A Postgres database. Cheap to make; connects at the first transaction."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def connect(cls, url: str, *, pool_size: int = 5, application_name: str = "orchestrator") -> Database:
        """A database at `url` (`postgresql+psycopg2://...`), holding at most `pool_size` connections.

        Works behind PgBouncer in transaction mode: no session state, no server-side prepared statements.
        """
        return cls(
            create_engine(
                url,
                pool_size=pool_size,
                max_overflow=pool_size,
                pool_pre_ping=True,
                json_serializer=None,
                connect_args={"application_name": application_name, "connect_timeout": 10},
            )
        )

    @contextmanager
    def transaction(self, *, lazy: bool = False) -> Iterator[Connection]:
        """A transaction: committed at the end, rolled back on an exception.

        `lazy` commits without waiting for the disk: only for what may be lost and done again (a claim).
        Raises `Unreachable` when no connection can be had, or it breaks; then nobody knows whether the commit was.
        """
        connection = self._connect()
        try:
            with connection, connection.begin():
                if lazy:
                    connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
                yield connection
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            raise Unreachable(f"the connection to Postgres broke: {str(error.orig).strip()}") from error

    def _connect(self) -> Connection:
        try:
            return self.engine.connect()
        except OperationalError as error:
            raise Unreachable(f"cannot reach Postgres: {str(error.orig).strip()}") from error

    def after_fork(self) -> None:
        """Forget the connections inherited from a parent process, without closing them under it."""
        self.engine.dispose(close=False)

    def close(self) -> None:
        self.engine.dispose()
