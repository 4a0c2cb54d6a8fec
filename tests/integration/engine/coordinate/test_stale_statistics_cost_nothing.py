"""Postgres plans by statistics, and those of a young installation say that its tables are empty."""

from __future__ import annotations

from sqlalchemy import text

from orchestrator.services.coordinate import tick
from orchestrator.services.engine import Settings
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands

STEPS = 600


def rows_read(db: Database) -> int:
    """Rows of steps that Postgres has read for us so far."""
    with db.transaction() as conn:
        conn.execute(text("SELECT pg_stat_force_next_flush()"))
    with db.transaction() as conn:
        found = conn.execute(
            text("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'workflow_run_steps'")
        )
        return int(found.scalar_one())


def started(db: Database) -> Hands:
    """A run of many steps in tables that have pages, and no rows by the last look at them."""
    hands = Hands(db, settings=Settings(window=STEPS, resend=0))
    many = document(*(step(f"s{i}") for i in range(STEPS)))
    register(hands.engine, many)
    for _ in range(5):
        with db.engine.connect() as conn, conn.begin() as transaction:
            start(hands.engine, "w", connection=conn)
            transaction.rollback()
    with db.transaction() as conn:
        conn.exec_driver_sql("ANALYZE")
    hands.start(many)
    return hands


def test_a_tick_reads_each_waiting_step_a_few_times_at_most(db: Database) -> None:
    hands = started(db)
    hands.outbox.take()  # all messages are lost: the tick has work to do
    before = rows_read(db)
    tick(hands.engine)
    assert rows_read(db) - before < 20 * STEPS
