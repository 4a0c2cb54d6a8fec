"""The database that the migrations make is the one store/tables describes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.pool import NullPool

from orchestrator.clock import NOW
from orchestrator.store.databases import drop_database, ensure_database
from orchestrator.store.tables import metadata
from orchestrator.store.tables.checks import RUN_CHECK, STEP_CHECK
from orchestrator.store.tables.runs import SEARCHED_FUNCTION

# Each row is one fact, with the name it belongs to first. Postgres spells both databases' facts the same way.
CATALOG = {
    "columns": """
        SELECT c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
          pg_get_expr(d.adbin, d.adrelid)
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid
          AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped""",
    "constraints": """
        SELECT conname, conrelid::regclass::text, contype, pg_get_constraintdef(oid, true), convalidated
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'""",
    "indexes": """
        SELECT c.relname, pg_get_indexdef(i.indexrelid), pg_get_expr(i.indpred, i.indrelid), i.indisvalid
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = 'public'::regnamespace""",
    "checks": """
        SELECT proname, pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND proname ~ '^orchestrator_(check_|searched)'""",
    "options": """
        SELECT relname, reloptions FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'""",
}
BOOKKEEPING = "alembic_version"


@pytest.fixture
def migrated(database_url: str) -> Iterator[Connection]:
    with _connected(database_url) as conn:
        yield conn


@pytest.fixture
def described(database_url: str) -> Iterator[Connection]:
    """A database made from the metadata alone."""
    url = make_url(database_url)
    sibling = url.set(database=f"{url.database}_described").render_as_string(hide_password=False)
    ensure_database(sibling)
    with _connected(sibling) as conn:
        conn.execute(text(f"CREATE FUNCTION {NOW} RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT now()'"))
        for check in (STEP_CHECK, RUN_CHECK):
            conn.exec_driver_sql(check.script())
        conn.exec_driver_sql(SEARCHED_FUNCTION)
        metadata.create_all(conn)
        yield conn
    drop_database(sibling)


def _connected(url: str) -> Connection:
    engine: Engine = create_engine(url, poolclass=NullPool)
    return engine.connect()


def facts(conn: Connection, kind: str) -> dict[str, list[str]]:
    """The facts of one kind by name, without those of Alembic's own table."""
    rows = [tuple(map(str, row)) for row in conn.execute(text(CATALOG[kind]))]
    return {row[0]: list(row[1:]) for row in rows if not any(BOOKKEEPING in value for value in row)}


def test_alembic_finds_nothing_left_to_migrate(migrated: Connection) -> None:
    # It cannot compare defaults of json columns; the catalogs below show every default.
    context = MigrationContext.configure(migrated, opts={"compare_type": True, "compare_server_default": False})
    assert compare_metadata(context, metadata) == []


@pytest.mark.parametrize("kind", CATALOG)
def test_the_catalogs_of_both_databases_agree(migrated: Connection, described: Connection, kind: str) -> None:
    found = facts(migrated, kind)
    assert found
    assert found == facts(described, kind)


def test_every_index_predicate_is_compared(migrated: Connection) -> None:
    """`pg_get_indexdef` shows predicates; without this the comparison could be blind to them."""
    assert "next_attempt_at IS NOT NULL" in facts(migrated, "indexes")["steps_retry_idx"][0]


def test_the_clock_of_the_database_is_the_one_the_code_names(migrated: Connection) -> None:
    assert migrated.scalar(text(f"SELECT {NOW} = now()")) is True
