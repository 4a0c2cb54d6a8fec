"""The client's verbs on packs, and the deletion of workflows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.services.actor import acting_user
from orchestrator.services.engine import Engine
from orchestrator.services.pack_folder import read_pack
from orchestrator.services.packs import Act, Changed, install_pack, remove_pack, upgrade_pack
from orchestrator.services.unregister import unregister
from orchestrator.store.reads import list_packs


class Packs:
    """Part of `Orchestrator`."""

    engine: Engine

    def unregister(
        self,
        name: str,
        app: str | None = None,
        group: str | None = None,
        *,
        force: bool = False,
        reason: str | None = None,
    ) -> None:
        """Delete a workflow; its runs keep their revision. Raises `NotFound`, and `Conflict` for one that has active
        runs or is of a pack, unless `force` says otherwise."""
        actor = acting_user("python")
        unregister(self.engine, name, app=app, group=group, force=force, reason=reason, actor=actor)

    def install_pack(
        self,
        folder: str | Path,
        app: str | None = None,
        group: str | None = None,
        *,
        dry_run: bool = False,
        reason: str | None = None,
    ) -> Changed:
        """Install the pack in `folder`: all of its workflows, or none. Raises `InvalidPack`, `NotFound`, `Conflict`."""
        read = read_pack(folder, limits=self.engine.settings.documents)
        return install_pack(self.engine, read, _act(app, group, dry_run=dry_run, reason=reason))

    def upgrade_pack(
        self,
        folder: str | Path,
        app: str | None = None,
        group: str | None = None,
        *,
        force: bool = False,
        dry_run: bool = False,
        reason: str | None = None,
    ) -> Changed:
        """Bring an installed pack to what `folder` holds; workflows that are no longer in it are removed.

        Raises `InvalidPack`, `NotFound`, and without `force` `Conflict` for one of these that has active runs.
        """
        read = read_pack(folder, limits=self.engine.settings.documents)
        return upgrade_pack(self.engine, read, _act(app, group, force=force, dry_run=dry_run, reason=reason))

    def remove_pack(
        self,
        name: str,
        app: str | None = None,
        group: str | None = None,
        *,
        force: bool = False,
        dry_run: bool = False,
        reason: str | None = None,
    ) -> Changed:
        """Remove a pack with its workflows. Raises `NotFound`, and without `force` `Conflict` for active runs."""
        return remove_pack(self.engine, name, _act(app, group, force=force, dry_run=dry_run, reason=reason))

    def packs(self, app: str | None = None) -> list[dict[str, Any]]:
        """Packs by name with their workflows: all, or those an app sees. Raises `NotFound` for an unknown app."""
        with self.engine.db.transaction() as conn:
            return list_packs(conn, app)


def _act(app: str | None, group: str | None, **given: Any) -> Act:
    return Act(app, group, actor=acting_user("python"), **given)
