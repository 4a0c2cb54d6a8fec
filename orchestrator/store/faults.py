"""Errors of the database as errors of ours, where a sentence says what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from orchestrator.errors import OrchestratorError, Unreachable

_NOT_MIGRATED = ("42P01", "42703", "42883")  # undefined table, column, function (SQLSTATE)
_NOT_ALLOWED = "42501"


@contextmanager
def unmigrated_is_unreachable() -> Iterator[None]:
    """Raise `Unreachable` for a database without our tables, and let every other error pass as it is."""
    try:
        yield
    except DBAPIError as error:
        told = _not_migrated(error)
        if told is None:
            raise
        raise told from error


@contextmanager
def told_in_words() -> Iterator[None]:
    """Raise `Unreachable` for a lost connection and for a database without our tables."""
    try:
        yield
    except DBAPIError as error:
        told = _told(error)
        if told is None:
            raise
        raise told from error


def _told(error: DBAPIError) -> OrchestratorError | None:
    message = _message(error)
    if (not_migrated := _not_migrated(error)) is not None:
        return not_migrated
    if getattr(error.orig, "pgcode", None) == _NOT_ALLOWED:
        return OrchestratorError(f"the database user may not do this: {message}")
    if error.connection_invalidated or isinstance(error, OperationalError | InterfaceError):
        return Unreachable(f"the connection to Postgres was lost: {message}")
    return None


def _not_migrated(error: DBAPIError) -> Unreachable | None:
    if getattr(error.orig, "pgcode", None) not in _NOT_MIGRATED:
        return None
    return Unreachable(
        f"the database does not hold the tables of this version ({_message(error)}): orchestrator db upgrade"
    )


def _message(error: DBAPIError) -> str:
    lines = str(error.orig).strip().splitlines()
    return lines[0] if lines else type(error.orig).__name__
