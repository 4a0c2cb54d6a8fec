"""Install, upgrade and remove a pack: all of its workflows in one transaction, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.pack import Pack, PackFile, in_file
from orchestrator.domain.validate import warnings
from orchestrator.errors import Conflict, InvalidPack, Problem
from orchestrator.services.engine import Engine
from orchestrator.services.owners import known_owner, new_owner
from orchestrator.services.register import known_functions, store_document
from orchestrator.services.unregister import active_runs
from orchestrator.store import events, packs, workflows
from orchestrator.store.workflows import Owner, name_key


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one workflow: `added`, `changed`, `unchanged` or `removed`; `revision` is the latest then."""

    workflow: str
    change: str
    revision: int


@dataclass(frozen=True, slots=True)
class Changed:
    """What an act on a pack has done, or would do. `before`: the version that was installed."""

    pack: str
    owner: Owner
    version: str | None
    before: str | None
    workflows: tuple[Change, ...]
    warnings: tuple[Problem, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many workflows each kind of change has."""
        kinds = [change.change for change in self.workflows]
        return {kind: kinds.count(kind) for kind in ("added", "changed", "unchanged", "removed") if kind in kinds}


@dataclass(frozen=True, slots=True)
class Act:
    """How to act on a pack. `force`: workflows with active runs are removed too. `dry_run`: only say what would be."""

    app: str | None = None
    group: str | None = None
    force: bool = False
    dry_run: bool = False
    reason: str | None = None
    actor: str = "cli"


class _NotMeant(Exception):
    """Takes a dry run's transaction back."""


def install_pack(engine: Engine, pack: Pack, act: Act | None = None) -> Changed:
    """Install a pack that is not there yet. Raises `Conflict` when it is, and `InvalidPack` for names that others'
    workflows have."""
    act = act or Act()

    def install(conn: Connection) -> Changed:
        owner = new_owner(engine, conn, act.app, act.group)
        row = packs.lock_pack(conn, owner, pack.name)
        if row.known:
            told = f", version {row.version}" if row.version else ""
            raise Conflict(f"{owner.kind} '{owner.name}' has the pack '{row.name}'{told} already: upgrade it")
        return _put(engine, conn, owner, row, pack, act, "install")

    return _in_one(engine, act, install)


def upgrade_pack(engine: Engine, pack: Pack, act: Act | None = None) -> Changed:
    """Bring an installed pack to this version: workflows that are no longer in it are removed.

    Raises `NotFound`, `Conflict` for one to be removed that has active runs, and `InvalidPack` as `install_pack`.
    """
    act = act or Act()

    def upgrade(conn: Connection) -> Changed:
        owner = known_owner(engine, conn, act.app, act.group)
        return _put(engine, conn, owner, packs.lock_known(conn, owner, pack.name), pack, act, "upgrade")

    return _in_one(engine, act, upgrade)


def remove_pack(engine: Engine, name: str, act: Act | None = None) -> Changed:
    """Remove a pack with its workflows. Raises `NotFound`, and `Conflict` for one with active runs."""
    act = act or Act()

    def remove(conn: Connection) -> Changed:
        owner = known_owner(engine, conn, act.app, act.group)
        row = packs.lock_known(conn, owner, name)
        removed = _remove(conn, packs.lock_members(conn, row.id), act)
        packs.delete_pack(conn, row.id)
        return _told(conn, act, "remove", Changed(row.name, owner, None, row.version, removed))

    return _in_one(engine, act, remove)


def _in_one(engine: Engine, act: Act, do: Callable[[Connection], Changed]) -> Changed:
    done: list[Changed] = []
    with suppress(_NotMeant), engine.db.transaction() as conn:
        done.append(do(conn))
        if act.dry_run:
            raise _NotMeant
    return done[0]


def _put(engine: Engine, conn: Connection, owner: Owner, row: Row[Any], pack: Pack, act: Act, verb: str) -> Changed:
    """Make the pack's workflows those of `pack`."""
    members = packs.lock_members(conn, row.id)
    kept = {name_key(file.definition.name) for file in pack.files}
    removed = _remove(conn, [member for member in members if member.name_key not in kept], act)
    stored = _store(conn, owner, row.id, pack)
    packs.describe_pack(conn, row.id, pack, known=verb == "upgrade")
    known: dict[str, Any] = {"functions": known_functions(engine, conn), "workflows": workflows.names_for(conn, owner)}
    odd = [in_file(f.path, problem) for f in pack.files for problem in warnings(f.definition, **known)]
    changed = Changed(pack.name, owner, pack.version, row.version, (*stored, *removed), tuple(odd))
    return _told(conn, act, verb, changed)


def _store(conn: Connection, owner: Owner, pack_id: str, pack: Pack) -> list[Change]:
    """Store each workflow, in the order of their names, which is that of all locks on workflows."""
    changes, clashes = [], []
    for file in sorted(pack.files, key=lambda file: name_key(file.definition.name)):
        row = workflows.lock_workflow(conn, owner, file.definition.name)
        clash = _clash(conn, row, pack_id, file, owner)
        if clash is None:
            changes.append(_store_one(conn, row, pack_id, file))
        else:
            clashes.append(clash)
    if clashes:
        raise InvalidPack(clashes, "the pack's workflows cannot be stored")
    return changes


def _clash(conn: Connection, row: Row[Any], pack_id: str, file: PackFile, owner: Owner) -> Problem | None:
    """Another's workflow of the same name."""
    is_there = row.latest_revision > 0 and row.deleted_at is None
    if not is_there or row.pack_id == pack_id:
        return None
    whose = f"of the pack '{packs.pack_name(conn, row.pack_id)}'" if row.pack_id else "of no pack"
    message = f"{owner.kind} '{owner.name}' has a workflow '{row.name}' already, which is {whose}"
    return Problem(f"{file.path}: name", message, "delete that one first, or give this one another name")


def _store_one(conn: Connection, row: Row[Any], pack_id: str, file: PackFile) -> Change:
    number, _, created = store_document(conn, row, file.definition.name, file.document)
    workflows.place_workflow(conn, row.id, pack_id)
    was_there = row.pack_id == pack_id
    change = "added" if not was_there else "changed" if created else "unchanged"
    return Change(file.definition.name, change, number)


def _remove(conn: Connection, members: Sequence[Row[Any]], act: Act) -> tuple[Change, ...]:
    if not act.force:
        active = [f"'{member.name}' has {told}" for member in members if (told := active_runs(conn, member.id))]
        if active:
            raise Conflict(f"workflows with active runs are not removed: {'; '.join(active)}; with force they go on")
    for member in members:
        workflows.delete_workflow(conn, member.id)
    return tuple(Change(member.name, "removed", member.latest_revision) for member in members)


def _told(conn: Connection, act: Act, verb: str, changed: Changed) -> Changed:
    """Write the act into the audit log."""
    named = {
        kind: [change.workflow for change in changed.workflows if change.change == kind]
        for kind in changed.counts
        if kind != "unchanged"
    }
    told = {"owner": f"{changed.owner.kind} {changed.owner.name}", "version": changed.version, "before": changed.before}
    events.audit(conn, act.actor, verb, "pack", changed.pack, act.reason, told | named | {"force": act.force})
    return changed
