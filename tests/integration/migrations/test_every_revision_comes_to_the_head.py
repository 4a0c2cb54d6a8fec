"""A database of any revision, with rows of that time in every table, comes to the head without loss or downtime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

from orchestrator.domain.retention import Rule
from orchestrator.services.collect import collect
from orchestrator.services.retry import retry
from orchestrator.store import migrate
from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters, get_run, list_runs, list_steps
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.migrations.past import add_rows
from tests.integration.migrations.strict import watched

REVISIONS = [revision.revision for revision in migrate._scripts().walk_revisions()][::-1]
# Those before were written before there was a rule; nothing of them has ever been released.
FIRST_HELD = "0017"


@pytest.fixture
def conn(empty_database: str) -> Iterator[Connection]:
    engine = create_engine(empty_database, poolclass=NullPool)
    with engine.connect() as conn:
        yield conn


def apply(conn: Connection, revision: str) -> None:
    """One revision, as `migrate.upgrade` does it."""
    command.upgrade(migrate._alembic(conn), revision)


Rows = dict[str, list[Any]]


def all_rows(conn: Connection, tables: Sequence[str]) -> Rows:
    return {table: list(conn.execute(text(f"SELECT to_jsonb(t.*) FROM {table} t")).scalars()) for table in tables}


def test_rows_of_every_time_are_kept_and_no_revision_stands_in_the_way(conn: Connection, empty_database: str) -> None:
    """Applied one after the other with rows of each time between them, which is every way to the head at once."""
    made: list[Rows] = []
    faults: dict[str, list[str]] = {}
    for n, revision in enumerate(REVISIONS):
        with watched(conn) as found:
            apply(conn, revision)
        faults[revision] = found
        made.append(add_rows(conn, n))
        conn.commit()
    assert {r: found for r, found in faults.items() if found and r >= FIRST_HELD} == {}
    now = all_rows(conn, list(made[-1]))
    lost = [(table, row) for rows in made for table, old in rows.items() for row in old if not _kept(row, now[table])]
    assert lost == []
    assert {table for table, old in made[-1].items() if not old} <= {
        "alert_mark",
        "metric_mark",
        "retention_turn",
        "trace_mark",
    }
    conn.rollback()
    _works(empty_database, [rows["workflow_runs"][0]["id"] for rows in made])


def _kept(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> bool:
    """With every value; there may be new columns."""
    return any(all(other.get(name) == value for name, value in row.items()) for other in rows)


def _works(url: str, old: Sequence[str]) -> None:
    """Old runs are shown, go on and are removed; new ones run."""
    db = Database.connect(url)
    hands = Hands(db)
    try:
        with db.transaction() as conn:
            assert {run["id"] for run in list_runs(conn, RunFilters(), None, 100).items} == set(old)
            assert get_run(conn, old[0])["error"]["message"] == "m"
            assert [row["name"] for row in list_steps(conn, old[0]).items] == ["a"]
        retry(hands.engine, old[0])
        new = hands.start(document(step("a"), step("b", "a")))
        hands.work()
        assert [hands.status(run_id) for run_id in (old[0], new)] == ["succeeded"] * 2
        assert sum(portion.runs for portion in collect(db, [Rule(keep_newest=0)])) == len(old) + 1
    finally:
        db.close()


FORBIDDEN = {
    "CREATE INDEX x ON workflow_runs (created_at)": "workflow_runs is read from end to end in a transaction",
    "ALTER TABLE workflow_runs ADD CHECK (depth >= 0)": "workflow_runs is read from end to end in a transaction",
    "UPDATE workflow_runs SET depth = 1 WHERE depth = 7": "workflow_runs is read from end to end in a transaction",
    "ALTER TABLE step_logs ADD COLUMN x float8 DEFAULT random()": "step_logs is written anew",
    "ALTER TABLE workers DROP COLUMN pool": "workers.pool is gone",
    "ALTER TABLE workers RENAME COLUMN pool TO pools": "workers.pool is gone",
    "ALTER TABLE workers ADD COLUMN x int NOT NULL": "workers.x is new and must be given",
    "ALTER TABLE workers ALTER COLUMN host TYPE varchar(9)": "workers.host has another type",
    "ALTER TABLE step_logs ALTER COLUMN at DROP NOT NULL, ALTER COLUMN message DROP NOT NULL": "",
    "ALTER TABLE workers ALTER COLUMN pool SET NOT NULL": "workers.pool must be given now",
    "DROP FUNCTION orchestrator_release": "orchestrator_release",
    "DROP TABLE run_events": "run_events.id is gone",
    "ALTER TABLE workflow_runs ADD COLUMN x text, ADD COLUMN y int NOT NULL DEFAULT 1": "",
    "ALTER TABLE workflow_runs ADD CONSTRAINT x CHECK (depth >= 0) NOT VALID": "",
    "CREATE TABLE x (run_id uuid REFERENCES workflow_runs (id)); CREATE INDEX y ON x (run_id)": "",
}


def test_the_rule_finds_what_it_is_there_to_find(db: Database) -> None:
    with db.engine.connect() as conn:
        for statement, fault in FORBIDDEN.items():
            transaction = None
            with watched(conn) as found:
                transaction = conn.begin()
                conn.exec_driver_sql(statement)
            transaction.rollback()
            assert (fault in "; ".join(found)) if fault else found == [], (statement, found)
