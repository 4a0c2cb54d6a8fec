"""What all runs share: pools, kept results, functions, processes, and the audit log."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from orchestrator.store.tables.base import NOW, Id, Instant, metadata

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("at", Instant, nullable=False, server_default=NOW),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("target_kind", Text, nullable=False),
    Column("target_id", Text, nullable=False),
    Column("reason", Text),
    Column("data", JSON),
    # What acts of one bulk have in common.
    Column("bulk_id", Id),
    Index("audit_log_target_idx", "target_id", "id"),
    Index("audit_log_actor_idx", "actor", "id"),
    Index("audit_log_action_idx", "action", "id"),
    Index("audit_log_at_idx", "at"),
    Index("audit_log_bulk_idx", "bulk_id", "id", postgresql_where=text("bulk_id IS NOT NULL")),
)

# Results that may be used again; `key_hash`: SHA-256 of the key's JSON text.
function_results = Table(
    "function_results",
    metadata,
    Column("app", Text, primary_key=True),
    Column("function", Text, primary_key=True),
    Column("key_hash", Text, primary_key=True),
    Column("output", JSON, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Index("function_results_expires_idx", "expires_at"),
)

function_rates = Table(
    "function_rates",
    metadata,
    Column("function", Text, primary_key=True),
    # The theoretical arrival time of the next call (store/rates.py).
    Column("arrival_at", Instant, nullable=False),
)

pools = Table(
    "pools",
    metadata,
    Column("name", Text, primary_key=True),
    Column("slots", Integer, nullable=False),
    Column("description", Text),
    Column("changed_at", Instant, nullable=False, server_default=NOW),
    CheckConstraint("slots >= 0", name="slots"),
)

functions = Table(
    "functions",
    metadata,
    Column("name", Text, primary_key=True),
    Column("module", Text, nullable=False),
    Column("queue", Text),
    Column("description", Text),
    Column("input_schema", JSON),
    Column("retry", JSON),
    Column("seen_at", Instant, nullable=False, server_default=NOW),
)

workers = Table(
    "workers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("queues", ARRAY(Text), nullable=False, server_default="{}"),
    Column("concurrency", Integer, nullable=False, server_default="0"),
    Column("pool", Text),
    Column("version", Text, nullable=False),
    # Of a beat: whether it hears NOTIFY.
    Column("listening", Boolean),
    Column("started_at", Instant, nullable=False, server_default=NOW),
    Column("seen_at", Instant, nullable=False, server_default=NOW),
    Column("stopped_at", Instant),
    CheckConstraint("kind IN ('worker', 'beat')", name="kind"),
)
