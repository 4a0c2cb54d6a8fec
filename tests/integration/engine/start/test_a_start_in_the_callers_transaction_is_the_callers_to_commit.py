"""`start(connection=)` enqueues in the caller's own transaction."""

from __future__ import annotations

from uuid import UUID

import pytest
from sqlalchemy import create_engine

from orchestrator.services.coordinate import tick
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands


def test_a_commit_starts_the_run_at_the_coordinators_next_tick(db: Database) -> None:
    hands = Hands(db)
    register(hands.engine, document(step("a")))
    with db.transaction() as conn:
        run_id = start(hands.engine, "w", connection=conn).run_id
    assert hands.outbox.take() == []
    tick(hands.engine)
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_a_rollback_leaves_no_run(db: Database) -> None:
    hands = Hands(db)
    register(hands.engine, document(step("a")))
    with db.engine.connect() as conn:
        transaction = conn.begin()
        start(hands.engine, "w", connection=conn)
        transaction.rollback()
    tick(hands.engine)
    assert hands.outbox.take() == []


def test_a_connection_of_the_callers_own_engine_is_as_good_as_ours(db: Database, database_url: str) -> None:
    hands = Hands(db)
    told = step("a", **{"pass": True}, input="{{ run.id }}")
    register(hands.engine, document(told, vars={"id": "{{ run.id }}"}))
    with create_engine(database_url).begin() as theirs:
        run_id = start(hands.engine, "w", connection=theirs).run_id
    assert hands.steps(run_id)["a"]["output"] == run_id


def test_the_same_key_in_the_callers_own_transactions_gives_the_first_runs_id_as_text(
    db: Database, database_url: str
) -> None:
    hands = Hands(db)
    register(hands.engine, document(step("a")))
    theirs = create_engine(database_url)
    ids = []
    for _ in range(2):
        with theirs.begin() as conn:
            ids.append(start(hands.engine, "w", options=StartOptions(idempotency_key="k"), connection=conn).run_id)
    assert ids[0] == ids[1]
    assert isinstance(ids[1], str)


def test_the_callers_connection_reads_as_before_when_the_run_is_started(db: Database, database_url: str) -> None:
    hands = Hands(db)
    register(hands.engine, document(step("a")))
    with create_engine(database_url).begin() as theirs:
        start(hands.engine, "w", connection=theirs)
        with pytest.raises(Exception, match="no workflow"):
            start(hands.engine, "missing", connection=theirs)
        assert isinstance(theirs.exec_driver_sql("SELECT id FROM workflow_runs").scalar(), UUID)
