"""`start(connection=)` enqueues in the caller's own transaction."""

from __future__ import annotations

from orchestrator.services.coordinate import tick
from orchestrator.services.register import register
from orchestrator.services.start import start
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
