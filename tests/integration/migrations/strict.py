"""What a revision must not do to tables that are in use, found out from the database while it is applied.

Forbidden, for tables that were there before it: to read one from end to end in a transaction (an index that is not
built concurrently, a constraint that is checked at once, a backfill), to write one anew, and to take away or change
what the release before works with: columns, functions, rows that it may insert.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, event, text

_TABLES = text("""
SELECT c.relname, pg_relation_filenode(c.oid) FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'alembic_version'
""")
_COLUMNS = text("""
SELECT c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod),
  a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS needed
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
""")
_FUNCTIONS = text("""
SELECT p.oid::regprocedure::text, pg_get_function_result(p.oid) FROM pg_proc p
WHERE p.pronamespace = 'public'::regnamespace
""")
# What the server is told at the next commit is counted no more; else it is told once a second, and the scans of a
# transaction stand beside those of earlier ones.
_FORGET = "SELECT pg_stat_force_next_flush()"
_SCANS = "SELECT relname, seq_scan FROM pg_stat_xact_user_tables WHERE schemaname = 'public' AND seq_scan > 0"


@dataclass
class Seen:
    """The schema, and what is wrong with what became of it."""

    files: dict[str, Any]
    columns: dict[str, tuple[str, bool]]
    functions: dict[str, str]
    faults: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, conn: Connection) -> Seen:
        return cls(
            {row[0]: row[1] for row in conn.execute(_TABLES)},
            {row[0]: (row[1], row[2]) for row in conn.execute(_COLUMNS)},
            {row[0]: row[1] for row in conn.execute(_FUNCTIONS)},
        )

    def compare(self, after: Seen) -> None:
        """Note what an older release would miss, and what was written anew."""
        for table, file in self.files.items():
            if table in after.files and after.files[table] != file:
                self.faults.append(f"{table} is written anew")
        for column, (kind, needed) in self.columns.items():
            if column not in after.columns:
                self.faults.append(f"{column} is gone")
            elif after.columns[column][0] != kind:
                self.faults.append(f"{column} has another type")
            elif after.columns[column][1] and not needed:
                self.faults.append(f"{column} must be given now")
        for column in after.columns.keys() - self.columns.keys():
            if column.split(".")[0] in self.files and after.columns[column][1]:
                self.faults.append(f"{column} is new and must be given")
        for function, result in self.functions.items():
            if after.functions.get(function) != result:
                self.faults.append(f"{function} is gone, or gives something else")


@contextmanager
def watched(conn: Connection) -> Iterator[list[str]]:
    """What is done on the connection meanwhile; the faults are there at the end."""
    before = Seen.of(conn)
    conn.execute(text(_FORGET))
    conn.commit()

    def look(conn: Connection, cursor: Any, statement: str, *rest: Any) -> None:
        if "pg_stat" in statement:
            return
        asked = cursor.connection.cursor()
        if cursor.connection.autocommit:  # of its own, and of what takes its time
            asked.execute(_FORGET)
            return
        asked.execute(_SCANS)
        for table, scans in asked.fetchall():
            fault = f"{table} is read from end to end in a transaction"
            if scans and table in before.files and fault not in before.faults:
                before.faults.append(fault)

    event.listen(conn, "after_cursor_execute", look)
    try:
        yield before.faults
    finally:
        event.remove(conn, "after_cursor_execute", look)
    before.compare(Seen.of(conn))
