"""Rows that nobody ran look as if someone had."""

from __future__ import annotations

from sqlalchemy import text

from orchestrator.bench.graphs import chain, document
from orchestrator.domain.states import RunStatus
from orchestrator.services.coordinate import tick
from orchestrator.services.register import register
from orchestrator.store.counters import outside_transactions, watcher_url
from orchestrator.store.db import Database
from orchestrator.store.filler import add_ended_runs, add_waiting_runs, tidy
from orchestrator.store.reads import RunFilters, list_runs
from tests.hands import Hands


def _revision(hands: Hands) -> str:
    return register(hands.engine, document("filled", chain(4))).revision_id


def test_old_runs_have_ended_in_the_past_and_are_listed_like_others(db: Database) -> None:
    hands = Hands(db)
    revision_id = _revision(hands)
    with db.transaction() as conn:
        add_ended_runs(conn, revision_id, runs=3, steps=4, first=0)
        page = list_runs(conn, RunFilters(workflow="filled", statuses=[RunStatus.SUCCEEDED]))
        ids = conn.scalars(text("SELECT id FROM workflow_runs ORDER BY created_at")).all()
        future = conn.scalar(text("SELECT count(*) FROM workflow_runs WHERE finished_at > now() - interval '1 month'"))
    assert [run["counts"] for run in page.items] == [{"succeeded": 4}] * 3
    assert ids == sorted(ids)
    assert future == 0


def test_steps_that_wait_are_left_alone_until_their_next_attempt_is_due(db: Database) -> None:
    hands = Hands(db)
    revision_id = _revision(hands)
    with db.transaction() as conn:
        add_waiting_runs(conn, revision_id, runs=2, steps=4)
    tick(hands.engine)
    with db.transaction() as conn:
        statuses = conn.execute(text("SELECT status, count(*) FROM workflow_run_steps GROUP BY status")).all()
    assert [tuple(row) for row in statuses] == [("ready", 8)]


def test_a_filled_database_can_be_tidied(db: Database, database_url: str) -> None:
    revision_id = _revision(Hands(db))
    with db.transaction() as conn:
        add_ended_runs(conn, revision_id, runs=3, steps=4, first=0)
    tidy(database_url)
    with db.transaction() as conn:
        assert conn.scalar(text("SELECT reltuples FROM pg_class WHERE relname = 'workflow_run_steps'")) == 12


def test_the_watcher_is_somebody_else_on_the_same_database(database_url: str) -> None:
    with outside_transactions(database_url) as conn:
        conn.execute(text("DROP ROLE IF EXISTS watcher"))
        conn.execute(text("CREATE ROLE watcher SUPERUSER"))
    with outside_transactions(database_url) as conn, outside_transactions(watcher_url(database_url)) as watching:
        asked = text("SELECT current_database(), current_user")
        (own, me), (theirs, watcher) = conn.execute(asked).one(), watching.execute(asked).one()
    assert own == theirs
    assert me != watcher == "watcher"
