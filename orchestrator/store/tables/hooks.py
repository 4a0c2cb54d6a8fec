"""Webhooks, and what /metrics has counted."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Table,
    Text,
    UniqueConstraint,
)

from orchestrator.store.tables.base import NOW, Id, Instant, metadata

# `secret`: encrypted (services/seal.py). `run`: a template of the id of the run that gets the event.
hooks = Table(
    "hooks",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False),
    Column("app_id", Id, ForeignKey("apps.id"), nullable=False),
    Column("workflow", Text),
    Column("event", Text),
    Column("run", Text),
    Column("scheme", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("input", JSON, nullable=False),
    Column("idempotency_key", Text),
    Column("enabled", Boolean, nullable=False, server_default="true"),
    Column("created_at", Instant, nullable=False, server_default=NOW),
    Column("created_by", Text, nullable=False),
    Column("last_called_at", Instant),
    UniqueConstraint("app_id", "name_key"),
    CheckConstraint("scheme IN ('timed', 'github')", name="scheme"),
    CheckConstraint("num_nonnulls(workflow, event) = 1", name="one_act"),
    CheckConstraint("(event IS NULL) = (run IS NULL)", name="event_of_run"),
)

# Calls that were taken, until they are refused for their age: by signature, or by the sender's id of the delivery.
hook_calls = Table(
    "hook_calls",
    metadata,
    Column("hook_id", Id, ForeignKey("hooks.id", ondelete="CASCADE"), primary_key=True),
    Column("call_key", Text, primary_key=True),
    Column("expires_at", Instant, nullable=False),
    Column("run_id", Id),
    Index("hook_calls_expires_idx", "expires_at"),
)

# Counted from events of runs (store/counts.py); `app` and `workflow` are empty where it is not told whose.
metric_counts = Table(
    "metric_counts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("app", Text, primary_key=True),
    Column("workflow", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
)

# Up to where: transactions before `counted_xid` are counted, and later ones have no event below `low_event`.
metric_mark = Table(
    "metric_mark",
    metadata,
    Column("one", Boolean, primary_key=True),
    Column("counted_xid", BigInteger, nullable=False),
    Column("low_event", BigInteger, nullable=False),
    Column("mark_xid", BigInteger, nullable=False),
    Column("mark_event", BigInteger, nullable=False),
    CheckConstraint("one", name="one"),
)
