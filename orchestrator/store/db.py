"""The engine, and the one way to a transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from psycopg2 import Error as DriverError
from psycopg2 import connect as connect_driver
from psycopg2 import extensions
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, DisconnectionError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from orchestrator.config_urls import psql_url
from orchestrator.domain.blobs import loads
from orchestrator.errors import Unreachable
from orchestrator.store.faults import in_words, told_in_words

# A server that vanished is noticed within half a minute, also by who waits for its answer.
_NOTICED = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 25_000}
_CONNECT_SECONDS = 10
# Ids are text everywhere; SQLAlchemy would have the driver make objects of them.
_ID = extensions.new_type((2950,), "ID", extensions.UNICODE)
_IDS = extensions.new_array_type((2951,), "IDS", _ID)


# Plans of the database's functions are kept for a connection, and made anew once its calls have taken a second in all:
# one made while a table was small is a bad one as soon as it is large, which for a young installation is long before
# its statistics say so. A bad one is soon found out this way, and planning takes a hundredth of the time of calls.
_PLANS_SECONDS = 1.0


Call = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]  # `Database.call`, or the same in a transaction


class Database:
    """A Postgres database. Cheap to make; connects at the first transaction.

    `lock_timeout`: seconds a transaction waits for one lock before it gives up; None waits for as long as it takes.
    """

    def __init__(self, engine: Engine, lock_timeout: float | None = None) -> None:
        self.engine = engine
        self._lock_timeout = lock_timeout
        self._idle: list[tuple[extensions.connection, float]] = []
        # How long the calls of a connection took since its plans were made, in seconds.
        self._spent: WeakKeyDictionary[extensions.connection, float] = WeakKeyDictionary()

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        pool_size: int = 5,
        application_name: str = "orchestrator",
        lock_timeout: float | None = None,
    ) -> Database:
        """A database at `url` (`postgresql+psycopg2://...`), holding at most `pool_size` connections.

        Works behind PgBouncer in transaction mode: no session state, no server-side prepared statements.
        """
        engine = create_engine(
            url,
            pool_size=pool_size,
            max_overflow=pool_size,
            json_serializer=None,
            json_deserializer=loads,
            hide_parameters=True,  # an error's text is logged, and values are nobody's business
            connect_args={"application_name": application_name, "connect_timeout": _CONNECT_SECONDS, **_NOTICED},
        )
        event.listen(engine, "connect", _ids_as_text)
        event.listen(engine, "checkin", _note_time)
        event.listen(engine, "checkout", _ping_if_rested)
        return cls(engine, lock_timeout)

    def new_connection(self) -> Connection:
        """A connection in no transaction yet; raises `Unreachable`."""
        try:
            return self.engine.connect()
        except OperationalError as error:
            raise Unreachable(f"cannot reach Postgres: {_all_lines(error)}") from error
        except PoolTimeout as error:
            raise Unreachable("all database connections of this process are in use (ORCHESTRATOR_POOL_SIZE)") from error

    @contextmanager
    def transaction(self, *, lazy: bool = False) -> Iterator[Connection]:
        """A transaction: committed at the end, rolled back on an exception.

        `lazy` commits without waiting for the disk: only for what may be lost and done again (a claim).
        Raises `Unreachable` when no connection can be had, or it breaks; then nobody knows whether the commit was; and
        when the database does not hold our tables. Raises `Locked` when `lock_timeout` ran out.
        """
        connection = self.new_connection()
        with told_in_words(), connection, connection.begin():
            self._set_local(connection, lazy)
            yield connection

    def _set_local(self, connection: Connection, lazy: bool) -> None:
        if lazy:
            connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
        if self._lock_timeout is not None:
            limit_lock_waits(connection, self._lock_timeout)

    def call(self, statement: str, values: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of one statement (`%s` or `%(name)s` for each value) that is a transaction of its own.

        One round trip. It has connections of its own, as many as there are calls at a time. Raises `Unreachable` as
        `transaction` does, and what the driver raises for a statement that fails.
        """
        connection = self._calling()
        spent = self._spent.get(connection, _PLANS_SECONDS)
        if spent >= _PLANS_SECONDS:
            spent, statement = 0.0, f"DISCARD PLANS; {statement}"
        began = time.monotonic()
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement, values)
                rows: list[tuple[Any, ...]] = cursor.fetchall()
        except DriverError as error:
            lost = bool(connection.closed)
            if not lost:
                self._idle.append((connection, time.monotonic()))
            told = in_words(error, lost=lost)
            if told is None:
                raise
            raise told from error
        finally:
            self._spent[connection] = spent + time.monotonic() - began
        self._idle.append((connection, time.monotonic()))
        return rows

    def _calling(self) -> extensions.connection:
        """A connection that commits each statement; one that rested is asked whether it lives."""
        while True:
            try:
                connection, used_at = self._idle.pop()
            except IndexError:
                return self._new_calling()
            if time.monotonic() - used_at < _TRUSTED_SECONDS or _lives(connection):
                return connection

    def _new_calling(self) -> extensions.connection:
        try:
            pooled = self.engine.raw_connection()
        except (OperationalError, DriverError) as error:
            raise Unreachable(f"cannot reach Postgres: {_all_lines(error)}") from error
        connection: extensions.connection | None = pooled.driver_connection
        assert connection is not None
        pooled.detach()  # the pool's own connections begin transactions
        connection.autocommit = True
        return connection

    def close(self) -> None:
        self.engine.dispose()
        while self._idle:
            self._idle.pop()[0].close()


def connect_alone(url: str, application_name: str) -> extensions.connection:
    """A connection of the driver's own, of no pool, to `postgresql+psycopg2://...`; raises `Unreachable`."""
    options: dict[str, Any] = {"application_name": application_name, "connect_timeout": _CONNECT_SECONDS, **_NOTICED}
    try:
        made: extensions.connection = connect_driver(psql_url(url), **options)
    except DriverError as error:
        raise Unreachable(f"cannot reach Postgres: {_all_lines(error)}") from error
    return made


def calls_in(connection: Connection) -> Call:
    """Calls that are part of this connection's transaction."""
    return lambda statement, values: [tuple(row) for row in connection.exec_driver_sql(statement, tuple(values))]


def watch_ends(connection: Connection, act: Callable[[bool], None]) -> None:
    """From now on call `act(True)` right before each commit of the connection, and `act(False)` at each rollback."""
    event.listen(connection, "commit", lambda _: act(True))
    event.listen(connection, "rollback", lambda _: act(False))


@contextmanager
def read_as_ours(connection: Connection) -> Iterator[None]:
    """Let a connection of someone else's engine read values as ours do, for as long as this is entered.

    Raises `ValueError` for another driver than psycopg2.
    """
    driver = connection.connection.driver_connection
    if not isinstance(driver, extensions.connection):
        raise ValueError(f"the connection must be one of psycopg2, not of {type(driver).__module__}")
    theirs = dict(driver.string_types)
    driver.string_types.clear()
    _ids_as_text(driver, None)
    try:
        yield
    finally:
        driver.string_types.clear()
        driver.string_types.update(theirs)


def limit_lock_waits(connection: Connection, seconds: float) -> None:
    """Let this transaction wait at most so long for one lock; what waits longer fails."""
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {round(seconds * 1000)}")


def _lives(connection: extensions.connection) -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DriverError:
        connection.close()
        return False
    return True


def _all_lines(error: DBAPIError | DriverError) -> str:
    return " ".join(str(error.orig if isinstance(error, DBAPIError) else error).split())


def _ids_as_text(connection: extensions.connection, record: object) -> None:
    extensions.register_type(_ID, connection)
    extensions.register_type(_IDS, connection)


# A connection used a moment ago is not asked whether it lives: that costs a round trip for each transaction.
# One that broke within that moment shows in its first statement, as `Unreachable`.
_TRUSTED_SECONDS = 3.0


def _note_time(connection: object, record: ConnectionPoolEntry) -> None:
    record.info["used_at"] = time.monotonic()


def _ping_if_rested(connection: extensions.connection, record: ConnectionPoolEntry, proxy: object) -> None:
    used_at = record.info.get("used_at")
    if used_at is None or time.monotonic() - used_at < _TRUSTED_SECONDS:
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        connection.rollback()
    except DriverError as error:
        raise DisconnectionError from error
