"""A few numbers about what is going on, at a cost that does not grow with the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from orchestrator.domain.states import RUN_OPEN
from orchestrator.errors import Unreachable
from orchestrator.store.db import Database
from orchestrator.store.tables import one_of

_ALIVE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Overview:
    """Open runs by status, and processes seen lately by kind (`worker`, `beat`)."""

    open_runs: Mapping[str, int]
    alive: Mapping[str, int]


_OPEN = text(f"SELECT status, count(*) FROM workflow_runs WHERE status IN {one_of(RUN_OPEN)} GROUP BY status")
_ALIVE = text("""
SELECT kind, count(*) FROM workers
WHERE stopped_at IS NULL AND seen_at > orchestrator_now() - make_interval(secs => :seconds) GROUP BY kind
""")


def overview(db: Database, *, alive_seconds: float = _ALIVE_SECONDS) -> Overview:
    """The numbers now. Raises `Unreachable` when the database cannot be read: it is down, or not set up."""
    try:
        with db.transaction() as conn:
            return _read(conn, alive_seconds)
    except SQLAlchemyError as error:
        told = " ".join(str(getattr(error, "orig", error)).split())
        raise Unreachable(f"cannot read the database: {told}") from error


def _read(conn: Connection, alive_seconds: float) -> Overview:
    runs = {str(status): int(count) for status, count in conn.execute(_OPEN)}
    alive = {str(kind): int(count) for kind, count in conn.execute(_ALIVE, {"seconds": alive_seconds})}
    return Overview(runs, alive)
