"""Runs that ended long ago, and what is left of them."""

from __future__ import annotations

from sqlalchemy import text

from orchestrator.store.db import Database

REFERRING = text("""
SELECT c.relname AS table, a.attname AS column FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
  AND (a.attname ~ '(run|step|root)_id$' OR a.attname IN ('rerun_of_id', 'last_run_id', 'reused_step_id'))
ORDER BY 1, 2
""")


def age(db: Database, days: float, *run_ids: str) -> None:
    """Let the runs (all that have ended for none), and those below them, have ended so long ago."""
    with db.transaction() as conn:
        conn.execute(
            text("""
UPDATE workflow_runs SET finished_at = now() - make_interval(secs => :days * 86400)
WHERE finished_at IS NOT NULL AND (:all OR root_id = ANY(CAST(:ids AS uuid[])))"""),
            {"days": days, "ids": list(run_ids), "all": not run_ids},
        )


def left(db: Database) -> dict[str, int]:
    """How many rows each table has that refers to runs or steps."""
    with db.transaction() as conn:
        tables = sorted({row.table for row in conn.execute(REFERRING)} | {"workflow_runs"})
        return {table: conn.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() for table in tables}


def runs_left(db: Database) -> set[str]:
    with db.transaction() as conn:
        return set(conn.execute(text("SELECT id FROM workflow_runs")).scalars())
