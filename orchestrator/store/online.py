"""What revisions need to change tables that are in use and may be large."""

from __future__ import annotations

from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

_VALID = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")


def build_index(context: MigrationContext, name: str, on: str, *, unique: bool = False) -> None:
    """Build the index `name` on (`table (columns) ...`) while the table is written to.

    What the revision did before is committed by it, so it must be fit to be done twice. An index that an earlier try
    left half built is built anew; one that is there stays.
    """
    with context.autocommit_block():
        conn = context.connection
        assert conn is not None
        valid = conn.execute(_VALID, {"name": name}).scalar()
        if valid:
            return
        if valid is False:
            conn.exec_driver_sql(f"DROP INDEX CONCURRENTLY {name}")
        conn.exec_driver_sql(f"CREATE {'UNIQUE ' if unique else ''}INDEX CONCURRENTLY {name} ON {on}")
