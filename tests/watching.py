"""Looks over the engine's shoulder: what must hold of a run after every single step of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.graph import Plan, make_plan
from orchestrator.domain.parse import parse
from orchestrator.domain.recount import recount
from orchestrator.domain.states import (
    RUN_REOPENS,
    RUN_TRANSITIONS,
    STEP_MARKS,
    STEP_REOPENS,
    STEP_TERMINAL,
    STEP_TRANSITIONS,
    RunStatus,
    StepStatus,
)
from orchestrator.store import steps
from orchestrator.store.db import Database
from orchestrator.testing import Sandbox
from tests.support import wait_for

# Writes down every move of a status; gone with the transaction.
_TRACE = """
CREATE TEMP TABLE moves (number bigint GENERATED ALWAYS AS IDENTITY, kind text, was text,
  became text) ON COMMIT DROP;
CREATE FUNCTION pg_temp.note_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO moves (kind, was, became) VALUES (
    CASE WHEN starts_with(to_jsonb(NEW) ->> 'name', 'on_') THEN 'handler' ELSE TG_ARGV[0] END, OLD.status, NEW.status);
  RETURN NULL;
END $$;
CREATE TRIGGER trace_steps AFTER UPDATE ON workflow_run_steps FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION pg_temp.note_move('step');
CREATE TRIGGER trace_runs AFTER UPDATE ON workflow_runs FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION pg_temp.note_move('run');
"""


def blocked(db: Database, like: str = "%") -> bool:
    """Whether a statement like this waits for a lock in the database."""
    mine = "datname = current_database() AND wait_event_type = 'Lock'"
    waiting = text(f"SELECT count(*) FROM pg_stat_activity WHERE {mine} AND query LIKE :like")
    with db.transaction() as conn:
        return bool(conn.scalar(waiting, {"like": like}))


def wait_for_horizon(db: Database) -> None:
    """Wait until the transactions of now have ended, those of other tests on the same server too: what is counted or
    told once, and only behind all of them, then is by the next look, whole."""
    with db.transaction() as conn:
        now = conn.scalar(text("SELECT CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text)"))

    def passed() -> bool:
        with db.transaction() as conn:
            passing = text("SELECT pg_snapshot_xmin(pg_current_snapshot()) >= CAST(:now AS xid8)")
            return bool(conn.scalar(passing, {"now": now}))

    wait_for(passed, 100, what="all transactions of then have ended")


def no_autovacuum(db: Database) -> None:
    """From now on it leaves the tables alone: whenever it has been there, what reads them is planned anew."""
    tables = text("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
    with db.transaction() as conn:
        for name in conn.execute(tables).scalars().all():
            conn.exec_driver_sql(f"ALTER TABLE {name} SET (autovacuum_enabled = false)")


def vacuum(db: Database, table: str | None = None) -> None:
    """Clear and count the rows of a table, or of all, until the map of them says that everybody sees them all: it does
    not while a look that began before (of autovacuum too, which comes whenever it likes) goes on in the database.
    """
    seen = text(
        "SELECT bool_and(relallvisible = relpages) FROM pg_class"
        " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname = coalesce(:table, relname)"
    )

    def done() -> bool:
        conn.exec_driver_sql(f"VACUUM (ANALYZE, INDEX_CLEANUP ON) {table or ''}")
        return bool(conn.scalar(seen, {"table": table}))

    with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        wait_for(done, what="the rows are seen by all")


def note_moves(connection: Connection) -> None:
    """From now on every move of a status is written down, until the transaction ends."""
    connection.exec_driver_sql(_TRACE)


def moves_since(connection: Connection) -> list[tuple[str, str, str]]:
    """The moves since the last time, in order: (run, step or handler; what it was; what it became)."""
    moves = connection.execute(text("DELETE FROM moves RETURNING number, kind, was, became"))
    return [(kind, was, became) for _, kind, was, became in sorted(moves)]


class Watch:
    """Called after every step: kept tallies equal a recount, and every move is one of the table of transitions."""

    def __init__(self, box: Sandbox, document: dict[str, Any]) -> None:
        self.box, self.plan = box, make_plan(parse(document))
        self.run_id = ""
        self.reopening = False  # an operator's retry is under way
        self.retried = False
        self.marking = False  # an operator's mark is under way
        note_moves(box.connection)

    def __call__(self, _: Sandbox | None = None) -> None:
        self.check_moves()
        check_tallies(self.box.connection, self.plan, self.run_id)

    @contextmanager
    def operators_retry(self) -> Iterator[None]:
        """Within, terminal states may be left as the table of reopenings says."""
        self.check_moves()
        self.reopening = self.retried = True
        yield
        self.check_moves()
        self.reopening = False

    @contextmanager
    def operators_mark(self) -> Iterator[None]:
        """Within, steps may be left as the table of marks says too."""
        with self.operators_retry():
            self.marking = True
            yield
            self.check_moves()
            self.marking = False

    def check_moves(self) -> None:
        for kind, was, became in moves_since(self.box.connection):
            assert self._allowed(kind, was, became), f"a {kind} went from {was} to {became}"

    def _allowed(self, kind: str, was: str, became: str) -> bool:
        if kind == "run":
            reopened = self.reopening and RunStatus(became) in RUN_REOPENS.get(RunStatus(was), ())
            return reopened or RunStatus(became) in RUN_TRANSITIONS[RunStatus(was)]
        # A run that was retried ends once more, and its handlers run once more.
        reopening = self.retried if kind == "handler" else self.reopening
        reopened = reopening and StepStatus(became) in STEP_REOPENS.get(StepStatus(was), ())
        marked = self.marking and StepStatus(became) in STEP_MARKS.get(StepStatus(was), ())
        return reopened or marked or StepStatus(became) in STEP_TRANSITIONS[StepStatus(was)]


def check_tallies(conn: Connection, plan: Plan, run_id: str) -> None:
    """What the rows keep is what a recount of the steps' ends gives."""
    everything = range(len(plan.steps))
    rows = steps.lock_steps(conn, run_id, everything)
    kept = {p: (row.tally, dict(row.edge_truth)) for p, row in rows.items()}
    afresh = recount(plan, {p: r.status for p, r in rows.items()}, {p: r.edge_truth for p, r in rows.items()})
    assert kept == afresh
    for position in everything:
        open_sources = sum(rows[s].status not in STEP_TERMINAL for s in plan.at(position).sources)
        assert rows[position].tally.remaining == open_sources
