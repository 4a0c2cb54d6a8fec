"""Errors of the database as errors of ours, where a sentence says what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg2 import Error as DriverError
from sqlalchemy.exc import DBAPIError

from orchestrator.errors import Locked, OrchestratorError, Troubled, Unreachable

_NOT_MIGRATED = ("42P01", "42703", "42883")  # undefined table, column, function (SQLSTATE)
_NOT_ALLOWED = "42501"
_LOCKED = "55P03"  # lock_not_available: lock_timeout ran out
# What the statement is not to blame for: rolled back for others' sake, out of memory, disk or connections, canceled
# (a statement_timeout among them), shutting down, input and output; and a primary that has just become a standby.
_REJECTED = ("22", "23")  # values that are none of their type; rows that break a rule
_TROUBLES = ("40", "53", "57", "58", "25006")


@contextmanager
def told_in_words() -> Iterator[None]:
    """Raise errors of the database as `in_words` tells them; others as they are."""
    try:
        yield
    except DBAPIError as error:
        told = in_words(error, lost=error.connection_invalidated)
        if told is None:
            raise
        raise told from error


@contextmanager
def rejected() -> Iterator[list[DBAPIError]]:
    """What is entered may try to store what cannot be: the error that stopped it is in the list afterwards."""
    told: list[DBAPIError] = []
    try:
        yield told
    except DBAPIError as error:
        if not (sqlstate(error) or "").startswith(_REJECTED):
            raise
        told.append(error)


def in_words(error: DBAPIError | DriverError, *, lost: bool) -> OrchestratorError | None:
    """`Unreachable` for a connection that was `lost` and for a database without our tables, `Locked` for a
    `lock_timeout` that ran out, `Troubled` where another try may succeed; None for other errors.
    """
    message, code = one_line(error), sqlstate(error)
    if code in _NOT_MIGRATED:
        return Unreachable(
            f"the database does not hold the tables of this version ({message}): orchestrator db upgrade"
        )
    if code == _NOT_ALLOWED:
        return OrchestratorError(f"the database user may not do this: {message}")
    if code == _LOCKED:
        return Locked(f"another transaction holds a lock that this one waits for ({message})")
    if lost:
        return Unreachable(f"the connection to Postgres broke: {message}")
    if code is not None and code.startswith(_TROUBLES):
        return Troubled(f"Postgres could not do it now: {message}")
    return None


def sqlstate(error: Exception) -> str | None:
    """The server's code for what went wrong; None when it was not the server that told."""
    return getattr(error.orig if isinstance(error, DBAPIError) else error, "pgcode", None)


def one_line(error: DBAPIError | DriverError) -> str:
    """What the server said first."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    lines = str(cause).strip().splitlines()
    return " ".join(lines[0].split()) if lines else type(cause).__name__
