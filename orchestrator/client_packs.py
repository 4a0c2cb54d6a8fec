"""The client's verbs on packs, and the deletion of workflows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict, Unpack

from orchestrator.domain.pack import Pack
from orchestrator.services.actor import acting_user
from orchestrator.services.engine import Engine
from orchestrator.services.pack_folder import read_pack
from orchestrator.services.packs import Act, Changed, install_pack, remove_pack, upgrade_pack
from orchestrator.services.unregister import unregister
from orchestrator.store.reads import list_packs


class How(TypedDict, total=False):
    """`dry_run`: only say what would be; `reason` is for the audit log."""

    dry_run: bool
    reason: str | None


class Forced(How, total=False):
    """`force`: workflows with active runs are removed too."""

    force: bool


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
        self, folder: str | Path, app: str | None = None, group: str | None = None, **how: Unpack[How]
    ) -> Changed:
        """Install the pack in `folder`: all of its workflows, or none. Raises `InvalidPack`, `NotFound`, `Conflict`."""
        return install_pack(self.engine, self._read(folder), Act(app, group, actor=acting_user("python"), **how))

    def upgrade_pack(
        self, folder: str | Path, app: str | None = None, group: str | None = None, **how: Unpack[Forced]
    ) -> Changed:
        """Bring an installed pack to what `folder` holds; workflows that are no longer in it are removed.

        Raises `InvalidPack`, `NotFound`, and without `force` `Conflict` for one of these that has active runs.
        """
        return upgrade_pack(self.engine, self._read(folder), Act(app, group, actor=acting_user("python"), **how))

    def remove_pack(
        self, name: str, app: str | None = None, group: str | None = None, **how: Unpack[Forced]
    ) -> Changed:
        """Remove a pack with its workflows. Raises `NotFound`, and without `force` `Conflict` for active runs."""
        return remove_pack(self.engine, name, Act(app, group, actor=acting_user("python"), **how))

    def _read(self, folder: str | Path) -> Pack:
        return read_pack(folder, limits=self.engine.settings.documents)

    def packs(self, app: str | None = None) -> list[dict[str, Any]]:
        """Packs by name with their workflows: all, or those an app sees. Raises `NotFound` for an unknown app."""
        with self.engine.db.transaction() as conn:
            return list_packs(conn, app)
