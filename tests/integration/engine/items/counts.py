"""What must hold of items at any moment."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import text

from orchestrator.store.db import Database

_OPEN = ("pending", "ready", "queued", "running", "waiting")
_RUN_OVER = ("succeeded", "failed", "canceled")


def items_of(db: Database, run_id: str) -> list[Any]:
    """The items of the run's first step with items, in order."""
    rows = "SELECT * FROM workflow_run_steps WHERE run_id = :id AND item_of IS NOT NULL ORDER BY position"
    with db.transaction() as conn:
        return list(conn.execute(text(rows), {"id": run_id}))


def statuses(db: Database, run_id: str) -> list[str]:
    return [row.status for row in items_of(db, run_id)]


def check_items(db: Database, run_id: str, concurrency: int | None = None) -> Counter[str]:
    """The counts on the step's row are right, no item is doubled, and nothing is open in a run that is over."""
    items = items_of(db, run_id)
    with db.transaction() as conn:
        owner = conn.execute(
            text("SELECT * FROM workflow_run_steps WHERE run_id = :id AND items_total IS NOT NULL"), {"id": run_id}
        ).first()
        over = conn.execute(text("SELECT status FROM workflow_runs WHERE id = :id"), {"id": run_id}).scalar()
    counts = Counter(row.status for row in items)
    open_items = sum(counts[status] for status in _OPEN)
    if owner is None:
        assert not items
        return counts
    assert [row.item_index for row in items] == list(range(owner.items_made))
    assert (owner.items_made, owner.items_open, owner.items_failed) == (len(items), open_items, counts["failed"])
    assert over not in _RUN_OVER or open_items == 0
    begun = open_items - counts["pending"]
    if concurrency is not None:
        assert begun <= concurrency
        if owner.finished_at is None and owner.items_stop is None:
            assert owner.items_free == concurrency - begun
    if owner.finished_at is not None:
        assert Counter(owner.items) == counts, f"{owner.status}: {owner.items} told, {dict(counts)} there"
    return counts
