"""The schema's revisions: brought up to date, and looked at. No alembic.ini: all is in the code and the wheel."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import NullPool

from orchestrator.errors import Locked, Unreachable
from orchestrator.store.faults import one_line, sqlstate

# The revisions: beside the package in a checkout as in site-packages; a `migrations` of the user's is not meant.
SCRIPTS = Path(__file__).resolve().parents[2] / "migrations"
_LOCK = 0x6F726368  # "orch": one upgrade at a time
_POLL_SECONDS = 0.2
# What waits behind a lock that a revision waits for waits as long: no longer than a request may take.
_LOCK_SECONDS = 1.0
_PAUSE_SECONDS = 2.0
_PATIENCE_SECONDS = 600.0
_LOCK_TAKEN = ("55P03", "40P01")  # lock_timeout ran out; a deadlock, whose victim we were

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The database's revision and those this version knows. `current` is None for an empty database."""

    current: str | None
    head: str
    pending: tuple[str, ...]
    newer: bool  # the database is at a revision this version does not know: a later release has upgraded it

    @property
    def ready(self) -> bool:
        """Whether this version can work on the database; migrations keep it usable by the release before."""
        return self.newer or not self.pending

    def __str__(self) -> str:
        if self.newer:
            return f"the database is at revision {self.current}, newer than this version's {self.head}"
        if not self.pending:
            return f"the database is at revision {self.head}, the latest"
        at = f"at revision {self.current}" if self.current else "not set up"
        return f"the database is {at}; to do: {', '.join(self.pending)} (run `orchestrator db upgrade`)"


def upgrade(url: str, *, patience: float = _PATIENCE_SECONDS) -> list[str]:
    """Bring the database to the latest revision; the revisions run, oldest first.

    Safe to run from several machines at once, and while the orchestrator works: a revision waits for a lock for a
    second, lets those go on that wait behind it, and tries again. Raises `Unreachable`, and `Locked` after `patience`
    seconds of trying.
    """
    with _connected(url) as engine, engine.connect() as guard:
        # In a transaction of its own: revisions commit one by one, and PgBouncer may pool by transaction.
        _take_turn(guard)
        with engine.connect() as conn:
            event.listen(conn, "begin", _limit_locks)
            pending = _state(conn).pending
            conn.rollback()
            if pending:
                _upgrade(conn, time.monotonic() + patience)
    return list(pending)


def _take_turn(guard: Connection) -> None:
    """Begin the transaction that holds the lock of upgrades.

    Not by a statement that waits, nor by asking again in the same transaction: who builds an index concurrently waits
    for the end of each transaction that was in a statement when it looked.
    """
    while not guard.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": _LOCK}).scalar_one():
        guard.rollback()
        time.sleep(_POLL_SECONDS)


def _limit_locks(conn: Connection) -> None:
    conn.exec_driver_sql(f"SET LOCAL lock_timeout = {round(_LOCK_SECONDS * 1000)}")


def _upgrade(conn: Connection, ends: float) -> None:
    """What is done is committed revision by revision, and not done again."""
    while True:
        try:
            command.upgrade(_alembic(conn), "head")
            return
        except DBAPIError as error:
            if sqlstate(error) not in _LOCK_TAKEN:
                raise
            conn.rollback()
            if time.monotonic() > ends:
                raise Locked(f"{one_line(error)}: a long transaction holds what an upgrade needs") from error
            log.warning("a table is in use (%s): the upgrade goes on in a moment", one_line(error))
        time.sleep(_PAUSE_SECONDS)


def check(url: str, *, timeout: float = 10) -> SchemaState:
    """How the database's schema stands to this version. `timeout` bounds the connecting and each statement, in
    seconds. Raises `Unreachable`.
    """
    with _connected(url, timeout) as engine, engine.connect() as conn, conn.begin():
        conn.exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, round(timeout * 1000))}")
        return _state(conn)


def _state(conn: Connection) -> SchemaState:
    at = MigrationContext.configure(conn).get_current_revision()
    scripts = _scripts()
    known = [revision.revision for revision in scripts.walk_revisions()]  # newest first
    newer = at is not None and at not in known
    pending = () if newer else tuple(reversed(known[: known.index(at)] if at is not None else known))
    return SchemaState(at, known[0], pending, newer)


@contextmanager
def _connected(url: str, timeout: float = 10) -> Iterator[Engine]:
    arguments = {"connect_timeout": max(1, round(timeout)), "application_name": "orchestrator-migrate"}
    engine = create_engine(url, poolclass=NullPool, connect_args=arguments)
    try:
        yield engine
    except OperationalError as error:
        raise Unreachable(f"cannot reach Postgres: {str(error.orig).strip()}") from error


def _alembic(conn: Connection | None = None) -> AlembicConfig:
    config = AlembicConfig()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = conn
    return config


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_alembic())
