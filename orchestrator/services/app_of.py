"""The app of a run by name, for what tells of it: asked once a revision, once a run where a group owns the workflow."""

from __future__ import annotations

from orchestrator.services.engine import Engine
from orchestrator.store import run_apps


def app_of(engine: Engine, revision_id: str, run_id: str) -> str | None:
    """None for a run that is gone; raises `Unreachable`."""
    owner = engine.apps.of(revision_id, lambda: run_apps.owner_of(engine.db, revision_id))
    return owner or engine.apps.of(run_id, lambda: run_apps.app_of(engine.db, run_id))
