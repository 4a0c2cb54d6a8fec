"""Coordinators with nothing to do cost next to nothing, however many there are and whatever waits (docs/adr/0008)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import event, text

from orchestrator.bench.graphs import chain, document
from orchestrator.config import Config
from orchestrator.services.coordinate import DUTIES, tick
from orchestrator.services.register import register
from orchestrator.store.db import Database
from orchestrator.store.filler import add_ended_runs, add_waiting_runs
from tests.hands import Hands
from workers import announce, telling
from workers.beat import Coordinator

ASKS = "SELECT duty, due FROM orchestrator_due(%s, %s)"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement of ours from here on; for a transaction those that its connection is told."""
    statements: list[str] = []
    real_call, real_connect = Database.call, Database.new_connection

    def call(self: Database, statement: str, values: Sequence[Any], **options: Any) -> list[tuple[Any, ...]]:
        statements.append(statement)
        return real_call(self, statement, values, **options)

    def connect(self: Database) -> Any:
        connection = real_connect(self)
        event.listen(connection, "before_cursor_execute", lambda _, __, statement, *___: statements.append(statement))
        return connection

    monkeypatch.setattr(Database, "call", call)
    monkeypatch.setattr(Database, "new_connection", connect)
    return statements


def filled(db: Database) -> Hands:
    """Many runs: some have ended, some wait for a time that has not come."""
    hands = Hands(db)
    revision_id = register(hands.engine, document("filled", chain(4))).revision_id
    with db.transaction() as conn:
        add_ended_runs(conn, revision_id, runs=200, steps=4, first=0)
        add_waiting_runs(conn, revision_id, runs=200, steps=4)
    return hands


def rows_read(db: Database) -> int:
    """Rows of runs and steps that Postgres has read so far for calls and for this."""
    db.call("SELECT pg_stat_force_next_flush()", [])
    names = "('workflow_runs', 'workflow_run_steps')"
    read = f"SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables WHERE relname IN {names}"
    return int(db.call(read, [])[0][0])


def test_with_nothing_due_a_tick_is_one_statement(db: Database, asked: list[str]) -> None:
    hands = filled(db)
    asked.clear()
    for _ in range(3):
        tick(hands.engine)
    assert asked == [ASKS] * 3


def test_with_nothing_due_a_tick_reads_no_row(db: Database) -> None:
    hands = filled(db)
    before = rows_read(db)
    tick(hands.engine)
    assert rows_read(db) == before


def test_a_beat_with_nothing_to_do_asks_no_more(
    database_url: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (announce, telling):  # a slow machine would come to the next time
        monkeypatch.setattr(module, "EVERY_SECONDS", 3600.0)
    beat = Coordinator(Config.from_env({"DATABASE_URL": database_url, "REDIS_URL": "redis://127.0.0.1:1"}))
    for _ in range(2):
        beat.tick()  # announces itself, and that it listens
    asked.clear()
    for _ in range(3):
        beat.tick()
    assert asked == [ASKS] * 3
    beat.stop()


def test_every_duty_is_asked_for(db: Database) -> None:
    with db.transaction() as conn:
        source = conn.execute(text("SELECT prosrc FROM pg_proc WHERE proname = 'orchestrator_due'")).scalar_one()
    assert [duty.__name__ for duty in DUTIES if f"('{duty.__name__}', EXISTS" not in source] == []
