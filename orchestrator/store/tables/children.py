"""The links from steps to the runs they started."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text, text

from orchestrator.store.tables.base import NOW, Id, Instant, metadata

# Which attempt of which step started which run, or went on with it. `child_id`: the name its parent gave it, if it did.
workflow_children = Table(
    "workflow_children",
    metadata,
    Column("parent_step_id", Id, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("child_run_id", Id, ForeignKey("workflow_runs.id", ondelete="CASCADE"), primary_key=True),
    Column("parent_run_id", Id, nullable=False),
    Column("workflow_id", Id, nullable=False),
    Column("child_id", Text),
    Column("created_at", Instant, nullable=False, server_default=NOW),
    Index("workflow_children_child_idx", "child_run_id"),
    Index("workflow_children_parent_idx", "parent_run_id"),
    Index(
        "workflow_children_named_idx",
        "workflow_id",
        "child_id",
        unique=True,
        postgresql_where=text("child_id IS NOT NULL"),
    ),
)
