"""What Postgres counts about itself: statements, commits and WAL, for `orchestrator bench`.

All of it counts at once. The views `pg_stat_database` and `pg_stat_wal` lag behind by up to ten seconds, which is
longer than most of what is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.pool import NullPool

# Settings that decide what a commit costs.
_SETTINGS = ("fsync", "synchronous_commit", "full_page_writes", "wal_level", "shared_buffers", "jit", "io_method")


@dataclass(frozen=True, slots=True)
class Counters:
    """`statements`: this role's in this database, BEGIN and COMMIT too. `commits`: transactions that wrote."""

    statements: int
    commits: int
    wal_bytes: int

    def __sub__(self, other: Counters) -> Counters:
        return Counters(
            self.statements - other.statements, self.commits - other.commits, self.wal_bytes - other.wal_bytes
        )


_WATCHER = "watcher"


def watcher_url(url: str) -> str:
    """The same database for somebody who only looks, and whose statements are not counted."""
    options = {"options": f"-c role={_WATCHER}"}
    return make_url(url).update_query_dict(options).render_as_string(hide_password=False)


@contextmanager
def outside_transactions(url: str) -> Iterator[Connection]:
    """A connection whose statements are each on their own, as VACUUM and ALTER SYSTEM want it."""
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as conn:
        yield conn


def load_statement_counter(url: str) -> None:
    """Let the server load pg_stat_statements at its next start, and make the watcher's role. For a superuser."""
    with outside_transactions(url) as conn:
        conn.exec_driver_sql(f"CREATE ROLE {_WATCHER} SUPERUSER")
        conn.exec_driver_sql("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")


def count_statements(url: str) -> None:
    """Count this database's statements, of which the server has loaded the counter."""
    with outside_transactions(url) as conn:
        conn.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")


_COUNTERS = text("""
SELECT (SELECT coalesce(sum(calls), 0) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
        WHERE d.datname = current_database() AND s.userid = CAST(current_user AS regrole)) AS statements,
       CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint) AS commits,
       pg_current_wal_insert_lsn() - CAST('0/0' AS pg_lsn) AS wal_bytes
""")


def read_counters(conn: Connection) -> Counters:
    """The counters now."""
    row = conn.execute(_COUNTERS).one()
    return Counters(int(row.statements), int(row.commits), int(row.wal_bytes))


def forget_statements(conn: Connection) -> None:
    """Count statements from zero."""
    conn.execute(text("SELECT pg_stat_statements_reset()"))


_FREQUENT = text("""
SELECT s.query, s.calls FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
WHERE d.datname = current_database() AND s.userid = CAST(current_user AS regrole) AND s.calls >= :least
ORDER BY s.calls DESC, s.query
""")


def frequent_statements(conn: Connection, least: int) -> list[tuple[str, int]]:
    """Statements called `least` times or more, on one line each, with their calls; the most frequent first."""
    return [(" ".join(row.query.split()), int(row.calls)) for row in conn.execute(_FREQUENT, {"least": least})]


def read_settings(conn: Connection) -> dict[str, str]:
    """The server's version, and the settings that decide what a commit costs."""
    names = ("server_version", *_SETTINGS)
    return {name: str(conn.scalar(text("SELECT current_setting(:name)"), {"name": name})) for name in names}
