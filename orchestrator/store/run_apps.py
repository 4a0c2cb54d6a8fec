"""The apps of revisions and runs, by name."""

from __future__ import annotations

from orchestrator.store.db import Database

_OWNER = """
SELECT a.name FROM workflow_revisions v JOIN workflows w ON w.id = v.workflow_id JOIN apps a ON a.id = w.app_id
WHERE v.id = %s
"""
_APP = "SELECT a.name FROM workflow_runs r JOIN apps a ON a.id = r.app_id WHERE r.id = %s"


def owner_of(db: Database, revision_id: str) -> str | None:
    """The app that owns the revision's workflow; None for one of a group. Raises `Unreachable`."""
    rows = db.call(_OWNER, [revision_id])
    return rows[0][0] if rows else None


def app_of(db: Database, run_id: str) -> str | None:
    """The app of a run; None for one that is gone. Raises `Unreachable`."""
    rows = db.call(_APP, [run_id])
    return rows[0][0] if rows else None
