"""Remove runs that were exported, if they are still as they were then."""

from __future__ import annotations

import time
from itertools import islice

from orchestrator.errors import Locked
from orchestrator.services.clean_blobs import remove_paths
from orchestrator.services.engine import Engine
from orchestrator.services.export import Exported
from orchestrator.store import events
from orchestrator.store.removal import remove_trees

_TREES = 20


def remove_exported(engine: Engine, done: Exported, *, file: str, actor: str) -> int:
    """Remove them with all below them; how many of the topmost went. One that somebody has acted on since, so that any
    of it is open or ended later, stays."""
    seen = iter(done.seen_at.items())
    gone = 0
    while chunk := list(islice(seen, _TREES)):
        gone += len(_remove(engine, dict(chunk)))
    with engine.db.transaction() as conn:
        events.audit(conn, actor, "export_and_delete", "history", "runs", data={"file": file, "count": gone})
    return gone


def _remove(engine: Engine, seen_at: dict[str, float]) -> list[str]:
    try:
        with engine.db.transaction() as conn:
            keep = {id: time.monotonic() - at for id, at in seen_at.items()}
            removed = remove_trees(conn, keep, blobs=bool(engine.blobs))
    except Locked:
        if len(seen_at) == 1:
            return []
        return [root for id, at in seen_at.items() for root in _remove(engine, {id: at})]
    remove_paths(engine.blobs, removed.blobs)
    return list(removed.roots)
