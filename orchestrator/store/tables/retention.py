"""How long what has ended is kept."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Integer, Table, Text

from orchestrator.store.tables.base import NOW, Instant, metadata

# Of every app, workflow or end where the key is empty (domain/retention.py); the names are those that were given.
retention_rules = Table(
    "retention_rules",
    metadata,
    Column("what", Text, primary_key=True),
    Column("app_key", Text, primary_key=True, server_default=""),
    Column("workflow_key", Text, primary_key=True, server_default=""),
    Column("status", Text, primary_key=True, server_default=""),
    Column("app", Text),
    Column("workflow", Text),
    Column("keep_seconds", BigInteger),
    Column("keep_newest", Integer),
    Column("changed_at", Instant, nullable=False, server_default=NOW),
    Column("changed_by", Text, nullable=False),
    CheckConstraint("status IN ('', 'succeeded', 'failed', 'canceled')", name="status"),
    CheckConstraint("keep_seconds >= 0 AND keep_newest >= 0", name="bounds"),
    CheckConstraint(
        "what = 'runs' OR (app_key = '' AND workflow_key = '' AND status = '' AND keep_newest IS NULL)", name="runs"
    ),
)

# Which coordinator removes what is old, and when another may.
retention_turn = Table(
    "retention_turn",
    metadata,
    Column("one", Boolean, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("free_at", Instant, nullable=False),
    CheckConstraint("one", name="one"),
)
