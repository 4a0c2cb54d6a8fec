"""What a statement is not to blame for may succeed at another try; what it is to blame for will not."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from orchestrator.errors import Locked, Troubled, Unreachable
from orchestrator.store.db import Database

TROUBLES = {
    "53100": "disk full",
    "53200": "out of memory",
    "53300": "too many connections",
    "40001": "could not serialize",
    "40P01": "deadlock detected",
    "57014": "canceling statement due to statement timeout",
    "57P03": "the database system is starting up",
    "58030": "could not read block",
    "25006": "cannot execute UPDATE in a read-only transaction",
}


def raised(code: str) -> str:
    return f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}', MESSAGE = 'so it is'; END $$"


@pytest.mark.parametrize("code", TROUBLES)
def test_trouble_of_the_server_is_no_fault_of_the_statement(module_db: Database, code: str) -> None:
    with pytest.raises(Troubled, match="so it is"), module_db.transaction() as conn:
        conn.execute(text(raised(code)))
    with pytest.raises(Troubled, match="so it is"):
        module_db.call(raised(code), [])
    assert module_db.call("SELECT 1", []) == [(1,)]


def test_a_real_statement_timeout_is_trouble_and_the_connection_goes_on(module_db: Database) -> None:
    with pytest.raises(Troubled, match="statement timeout"), module_db.transaction() as conn:
        conn.execute(text("SET LOCAL statement_timeout = 1; SELECT pg_sleep(5)"))
    with module_db.transaction() as conn:
        assert conn.execute(text("SELECT 1")).scalar() == 1


@pytest.mark.parametrize("sql", ["SELECT 1 / 0", "SELECT", "INSERT INTO workflow_runs DEFAULT VALUES"])
def test_a_fault_of_the_statement_stays_one(module_db: Database, sql: str) -> None:
    broken = sql if sql != "SELECT" else "SELECT FROM FROM"
    with pytest.raises(DBAPIError), module_db.transaction() as conn:
        conn.execute(text(broken))


def test_a_lock_timeout_is_told_as_a_lock(module_db: Database) -> None:
    with pytest.raises(Locked), module_db.transaction() as conn:
        conn.execute(text(raised("55P03")))
    assert not issubclass(Locked, Unreachable)


def test_an_error_shows_no_value_that_was_given_to_its_statement(module_db: Database) -> None:
    """Its text is logged, and told to people."""
    with pytest.raises(DBAPIError) as told, module_db.transaction() as conn:
        conn.execute(text("SELECT 1 / 0, CAST(:secret AS text)"), {"secret": "hunter2"})
    assert "hunter2" not in str(told.value)
