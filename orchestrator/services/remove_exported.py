"""Remove runs that were exported, if they are still as they were then."""

from __future__ import annotations

import time
from itertools import islice

from orchestrator.errors import Locked
from orchestrator.services.export import Exported
from orchestrator.store import events
from orchestrator.store.db import Database
from orchestrator.store.removal import remove_trees

_TREES = 20


def remove_exported(db: Database, done: Exported, *, file: str, actor: str) -> int:
    """Remove them with all below them; how many of the topmost went. One that somebody has acted on since, so that any
    of it is open or ended later, stays."""
    seen = iter(done.seen_at.items())
    gone = 0
    while chunk := list(islice(seen, _TREES)):
        gone += len(_remove(db, dict(chunk)))
    with db.transaction() as conn:
        events.audit(conn, actor, "export_and_delete", "history", "runs", data={"file": file, "count": gone})
    return gone


def _remove(db: Database, seen_at: dict[str, float]) -> list[str]:
    try:
        with db.transaction() as conn:
            return list(remove_trees(conn, {id: time.monotonic() - at for id, at in seen_at.items()}).roots)
    except Locked:
        if len(seen_at) == 1:
            return []
        return [root for id, at in seen_at.items() for root in _remove(db, {id: at})]
