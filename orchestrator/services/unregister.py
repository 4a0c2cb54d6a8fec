"""Delete a workflow: nobody sees it by its name any more. Its runs keep their revision, and go on."""

from __future__ import annotations

from sqlalchemy import Connection

from orchestrator.errors import Conflict
from orchestrator.services.engine import Engine
from orchestrator.services.owners import known_owner
from orchestrator.store import events, packs, workflows

_MOST = 1000  # runs counted


def unregister(
    engine: Engine,
    name: str,
    *,
    app: str | None = None,
    group: str | None = None,
    force: bool = False,
    reason: str | None = None,
    actor: str = "cli",
) -> str:
    """Delete the owner's own workflow of this name; its name as it was written.

    Raises `NotFound`, and without `force` `Conflict` for one that has active runs or is of a pack. Registered again, it
    goes on with the next revision.
    """
    with engine.db.transaction() as conn:
        owner = known_owner(engine, conn, app, group)
        row = workflows.lock_owned(conn, owner, name)
        if not force and row.pack_id is not None:
            pack = packs.pack_name(conn, row.pack_id)
            raise Conflict(f"workflow '{row.name}' is of the pack '{pack}': upgrade or remove that, or use force")
        if not force and (active := active_runs(conn, row.id)):
            raise Conflict(f"workflow '{row.name}' has {active}; with force it is deleted, and they go on")
        workflows.delete_workflow(conn, row.id)
        told = {"owner": f"{owner.kind} {owner.name}", "force": force}
        events.audit(conn, actor, "unregister", "workflow", row.name, reason, told)
    return str(row.name)


def active_runs(conn: Connection, workflow_id: str) -> str | None:
    """How many runs of the workflow have not ended, in words; None when all have."""
    count = workflows.count_open_runs(conn, workflow_id, _MOST + 1)
    if not count:
        return None
    return "1 active run" if count == 1 else f"{count if count <= _MOST else f'more than {_MOST}'} active runs"
