"""What `orchestrator.testing` says to who uses it."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from orchestrator import testing
from orchestrator.errors import InvalidConfig, InvalidDefinition, Locked, Unreachable
from orchestrator.store.db import Database

PASSES = {"name": "x", "steps": [{"name": "a", "pass": True}]}


def test_the_path_of_a_workflow_given_as_text_is_answered_with_how_to_give_it() -> None:
    with pytest.raises(InvalidDefinition, match=r"'report.yaml' is text.*pathlib\.Path"):
        testing.run("report.yaml")


def test_a_function_that_a_test_does_not_give_is_not_looked_for_in_a_worker() -> None:
    result = testing.run({"name": "x", "steps": [{"name": "a", "function": "chrage"}]}, functions={"charge": print})
    message = result.error["message"] if result.error else ""
    assert "'chrage' is not known here; did you mean 'charge'? (a test's functions are" in message
    assert "worker" not in message


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_a_database_url_is_taken_as_platforms_write_it(database_url: str, scheme: str) -> None:
    url = database_url.replace("postgresql+psycopg2", scheme, 1)
    assert testing.run(PASSES, database_url=url).status == "succeeded"


def test_a_database_that_does_not_answer_is_unreachable() -> None:
    with pytest.raises(Unreachable, match="cannot reach Postgres"):
        testing.run(PASSES, database_url="postgresql://nobody@127.0.0.1:1/none")


def test_a_url_of_something_else_is_refused_with_what_it_must_be() -> None:
    with pytest.raises(InvalidConfig, match=r"database_url.*'mysql://' is not Postgres"):
        testing.run(PASSES, database_url="mysql://host/x")


def test_two_sandboxes_may_be_open_at_once() -> None:
    with testing.sandbox() as outer:
        run_id = outer.start(PASSES)
        assert testing.run(PASSES | {"name": "y"}).status == "succeeded"
        outer.drive(run_id)
        assert outer.result(run_id).status == "succeeded"


def test_a_sandbox_that_needs_what_another_holds_says_so_instead_of_waiting_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("orchestrator.testing.sandboxed._LOCK_SECONDS", 0.05)
    with testing.sandbox() as outer:
        outer.start(PASSES)
        with pytest.raises(Locked, match="another sandbox is open on the same database"):
            testing.run(PASSES)


def test_a_child_of_a_function_may_be_a_document_whose_time_passes_too() -> None:
    child = {"name": "Doubled", "steps": [{"name": "rest", "sleep": 60}], "output": "{{ input.n * 2 }}"}

    def work(ctx: Any, input: Any) -> Any:
        return ctx.await_child(ctx.spawn_child("doubled", {"n": 8}))

    result = testing.run(work, workflows=[child])
    assert (result.output, result.duration.total_seconds()) == (16, 60)
    assert [child.steps["rest"].status for child in result.children] == ["succeeded"]


def test_what_fails_in_a_sandbox_takes_back_its_own_transaction_and_no_other() -> None:
    with testing.sandbox() as box:
        db = box.engine.db
        with db.transaction() as conn:
            conn.execute(text("CREATE TEMP TABLE kept (n int) ON COMMIT DROP"))
            conn.execute(text("INSERT INTO kept VALUES (1)"))
        with db.transaction():
            """Nothing is done in it."""
        with pytest.raises(ZeroDivisionError), db.transaction():
            raise ZeroDivisionError
        for statement, error in (("INSERT INTO kept VALUES (2)", ZeroDivisionError), ("SELECT 1 / 0", DBAPIError)):
            with pytest.raises(error):
                _add_and_fail(db, statement)
        with pytest.raises(DBAPIError):
            db.call("SELECT 1 / %s", [0])
        with db.transaction() as conn:
            conn.execute(text("INSERT INTO kept VALUES (:n)"), [{"n": 4}, {"n": 5}])
        assert db.call("SELECT n FROM kept ORDER BY n", []) == [(1,), (4,), (5,)]


def _add_and_fail(db: Database, statement: str) -> None:
    with db.transaction() as conn:
        conn.execute(text("INSERT INTO kept VALUES (3)"))
        conn.execute(text(statement))
        raise ZeroDivisionError
