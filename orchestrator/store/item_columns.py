"""The columns of `workflow_run_steps` that items and steps with items have."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import JSON, Column, Index, Integer, Text, text
from sqlalchemy.sql.schema import SchemaItem

from orchestrator.domain.items import FIRST_ITEM

# A condition that leaves items out, by the index on positions.
STEPS_ONLY = f"position < {FIRST_ITEM}"


def item_columns() -> Sequence[SchemaItem]:
    """Of an item (`item_*`), and of a step that was expanded (`items*`), as migrations/versions/0006_items.py says."""
    counts = ("total", "made", "open", "failed", "free", "first", "next")
    return (
        Column("item_of", Integer),
        Column("item_index", Integer),
        Column("item", JSON),
        *(Column(f"items_{name}", Integer) for name in counts),
        Column("items_stop", Text),
        Column("items", JSON),
        Column("items_spared", Integer),
        Index("steps_items_stop_idx", "run_id", "position", postgresql_where=text("items_stop IS NOT NULL")),
    )
