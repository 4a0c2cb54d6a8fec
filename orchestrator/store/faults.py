"""Errors of the database as errors of ours, where a sentence says what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from orchestrator.errors import OrchestratorError, Unreachable

_NOT_MIGRATED = ("42P01", "42703", "42883")  # undefined table, column, function (SQLSTATE)
_NOT_ALLOWED = "42501"


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
    message = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
    code = getattr(error.orig, "pgcode", None)
    if code in _NOT_MIGRATED:
        return Unreachable(
            f"the database does not hold the tables of this version ({message}): orchestrator db upgrade"
        )
    if code == _NOT_ALLOWED:
        return OrchestratorError(f"the database user may not do this: {message}")
    if error.connection_invalidated or isinstance(error, OperationalError | InterfaceError):
        return Unreachable(f"the connection to Postgres was lost: {message}")
    return None
