"""A database all of whose transactions are parts of one, which is rolled back (tests only)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection

from orchestrator.errors import Locked
from orchestrator.store.db import Database
from orchestrator.store.faults import told_in_words


class OneTransaction(Database):
    """Every transaction is a savepoint of the one that is rolled back."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.engine)
        self._connection = connection

    @contextmanager
    def transaction(self, *, lazy: bool = False) -> Iterator[Connection]:
        with _locks_told(), self._connection.begin_nested():
            yield self._connection

    def call(self, statement: str, values: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
        given = dict(values) if isinstance(values, Mapping) else tuple(values)
        with _locks_told(), self._connection.begin_nested():
            return [tuple(row) for row in self._connection.exec_driver_sql(statement, given)]


@contextmanager
def _locks_told() -> Iterator[None]:
    try:
        with told_in_words():
            yield
    except Locked as error:
        raise Locked(
            "another sandbox is open on the same database and holds what this one needs, such as a workflow of the"
            f" same name: close it first, or give the workflow another name ({error})"
        ) from error
