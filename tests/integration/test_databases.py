from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from orchestrator.errors import Conflict, Unreachable
from orchestrator.ids import new_token
from orchestrator.store.databases import copy_database, drop_database, is_sealed, seal_database
from orchestrator.store.db import Database
from orchestrator.store.migrate import check

NAME = "the held one"


@pytest.fixture
def held(database_url: str) -> Iterator[Connection]:
    """Somebody's connection to the database."""
    engine = create_engine(database_url, poolclass=NullPool, connect_args={"application_name": NAME})
    with engine.connect() as conn:
        yield conn


@pytest.fixture
def copy(database_url: str) -> Iterator[str]:
    """The name of a copy to be."""
    name = "copy_" + new_token().replace("-", "")
    yield name
    drop_database(make_url(database_url).set(database=name).render_as_string(hide_password=False))


class Leaves(logging.Handler):
    """Closes the connection once the copying is said to wait for it."""

    def __init__(self, held: Connection) -> None:
        super().__init__(logging.INFO)
        self.held, self.waited_for = held, list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.waited_for.append(record.getMessage())
        self.held.close()


def test_a_copy_waits_for_who_is_still_connected(
    database_url: str, held: Connection, copy: str, caplog: pytest.LogCaptureFixture
) -> None:
    log, handler = logging.getLogger("orchestrator.store.databases"), Leaves(held)
    log.addHandler(handler)
    try:
        with caplog.at_level(logging.INFO, log.name):
            assert check(copy_database(database_url, copy)).ready
    finally:
        log.removeHandler(handler)
    assert NAME in handler.waited_for[0]  # a server that is slow to see it leave is waited for once more


def test_a_copy_of_what_stays_in_use_is_refused_naming_by_whom(database_url: str, held: Connection, copy: str) -> None:
    with pytest.raises(Conflict, match=f"while it is used by {NAME} \\(process [0-9]+\\)"):
        copy_database(database_url, copy, patience=0)


def test_a_sealed_database_is_copied_whoever_is_or_wants_to_be_connected(
    database_url: str, held: Connection, copy: str
) -> None:
    assert not is_sealed(database_url)
    seal_database(database_url)
    assert is_sealed(database_url)
    assert check(copy_database(database_url, copy, patience=0)).ready
    with pytest.raises(OperationalError):
        held.execute(text("SELECT 1"))
    with pytest.raises(Unreachable, match="not currently accepting connections"):
        check(database_url)


def test_nobody_can_connect_to_the_template_of_all_tests(orchestrator_template_url: str) -> None:
    database = Database.connect(orchestrator_template_url)
    with pytest.raises(Unreachable, match="not currently accepting connections"), database.transaction():
        pass
