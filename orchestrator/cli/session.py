"""Open the database for a command that reads, and find in it what the command means."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.config import Config
from orchestrator.domain.graph import Plan
from orchestrator.services.plans import Plans
from orchestrator.store import workflows
from orchestrator.store.db import Database
from orchestrator.store.reads import RunNow, find_run


@contextmanager
def open_database() -> Iterator[Database]:
    """The configured database, for reading; a broker is not needed. Raises `Unreachable` and `InvalidConfig`."""
    db = Database.connect(Config.from_env(need=("database",)).database_url, pool_size=1)
    try:
        yield db
    finally:
        db.close()


def find(db: Database, run: str) -> str:
    """The id of the run that RUN means; raises `NotFound`."""
    with db.transaction() as conn:
        return find_run(conn, run)


def plan_of(db: Database, run: RunNow) -> Plan:
    """The plan the run follows."""
    with db.transaction() as conn:
        return Plans().get(conn, run.revision_id)


def plan_named(db: Database, name: str, app: str) -> Plan:
    """The plan of the workflow the app sees under this name; raises `NotFound`."""
    with db.transaction() as conn:
        return Plans().of(workflows.get_revision(conn, app, name))
