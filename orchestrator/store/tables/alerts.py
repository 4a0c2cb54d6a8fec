"""Alerts: the rules, what they have found, and the messages about it."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from orchestrator.store.tables.base import NOW, Id, Instant, metadata

# `app_id` NULL: of all apps. `url` and `secret` are `secrets.NAME`, or encrypted (services/seal.py); `webhook` is what
# is shown of the URL.
alert_rules = Table(
    "alert_rules",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False),
    Column("app_id", Id, ForeignKey("apps.id")),
    Column("kinds", ARRAY(Text), nullable=False),
    Column("severity", Text, nullable=False),
    Column("workflow", Text),
    Column("workflow_key", Text),
    Column("tags", ARRAY(Text), nullable=False, server_default="{}"),
    Column("queue", Text),
    Column("late_seconds", Integer),
    Column("stuck_seconds", Integer, nullable=False),
    Column("group_seconds", Integer, nullable=False),
    Column("repeat_seconds", Integer, nullable=False),
    Column("resolved", Boolean, nullable=False),
    Column("webhook", Text),
    Column("url", Text),
    Column("secret", Text),
    Column("emails", ARRAY(Text), nullable=False, server_default="{}"),
    Column("paused_at", Instant),
    Column("paused_by", Text),
    Column("pause_reason", Text),
    Column("created_at", Instant, nullable=False, server_default=NOW),
    Column("created_by", Text, nullable=False),
    Column("changed_at", Instant, nullable=False, server_default=NOW),
    Column("changed_by", Text, nullable=False),
    CheckConstraint("cardinality(kinds) > 0", name="kinds"),
    CheckConstraint("severity IN ('critical', 'info', 'warning')", name="severity"),
    CheckConstraint(
        "stuck_seconds > 0 AND group_seconds >= 0 AND repeat_seconds > 0 AND late_seconds > 0", name="seconds"
    ),
    CheckConstraint("(webhook IS NULL) = (url IS NULL) AND (secret IS NULL OR url IS NOT NULL)", name="webhook"),
    CheckConstraint("url IS NOT NULL OR cardinality(emails) > 0", name="channel"),
    CheckConstraint("(paused_at IS NULL) = (paused_by IS NULL)", name="paused"),
    Index(
        "alert_rules_name_idx",
        text("coalesce(app_id, '00000000-0000-0000-0000-000000000000'::uuid)"),
        "name_key",
        unique=True,
    ),
)

# One as long as it lasts. `what` it is about: a workflow of an app, a queue, a schedule; `subject`: how that is shown.
# `total` of runs, `unsent` of those no message has told yet; `due_at`: when the next message is to be made, or none.
alerts = Table(
    "alerts",
    metadata,
    Column("id", Id, primary_key=True),
    Column("rule_id", Id, ForeignKey("alert_rules.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("subject", JSON, nullable=False),
    Column("total", BigInteger, nullable=False),
    Column("unsent", BigInteger, nullable=False),
    Column("opened_at", Instant, nullable=False, server_default=NOW),
    Column("last_at", Instant, nullable=False, server_default=NOW),
    Column("sent_at", Instant),
    Column("due_at", Instant),
    Column("closed_at", Instant),
    Column("outcome", Text),
    CheckConstraint("outcome IN ('paused', 'quiet', 'resolved')", name="outcome"),
    CheckConstraint("(closed_at IS NULL) = (outcome IS NULL)", name="closed"),
    CheckConstraint("(closed_at IS NULL) = (due_at IS NOT NULL)", name="due"),
    Index("alerts_open_idx", "rule_id", "kind", "what", unique=True, postgresql_where=text("closed_at IS NULL")),
    Index("alerts_due_idx", "due_at", postgresql_where=text("due_at IS NOT NULL")),
    Index("alerts_rule_idx", "rule_id", "id"),
)

# The runs an alert is about, up to a bound where they are many.
alert_runs = Table(
    "alert_runs",
    metadata,
    Column("alert_id", Id, ForeignKey("alerts.id", ondelete="CASCADE"), primary_key=True),
    Column("run_id", Id, primary_key=True),
    Index("alert_runs_run_idx", "run_id"),
)

# Messages, each for one channel, in the order of their ids. `due_at`: when it is sent next; NULL once it was, or was
# given up.
alert_deliveries = Table(
    "alert_deliveries",
    metadata,
    Column("id", Id, primary_key=True),
    Column("rule_id", Id, ForeignKey("alert_rules.id", ondelete="CASCADE"), nullable=False),
    Column("alert_id", Id, ForeignKey("alerts.id", ondelete="CASCADE")),
    Column("channel", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("message", JSON, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("created_at", Instant, nullable=False, server_default=NOW),
    Column("due_at", Instant),
    Column("sent_at", Instant),
    Column("given_up_at", Instant),
    Column("error", Text),
    CheckConstraint("channel IN ('email', 'webhook')", name="channel"),
    CheckConstraint("state IN ('firing', 'resolved', 'test')", name="state"),
    CheckConstraint("num_nonnulls(due_at, sent_at, given_up_at) = 1", name="due"),
    Index("alert_deliveries_due_idx", "rule_id", "channel", "id", postgresql_where=text("due_at IS NOT NULL")),
    Index("alert_deliveries_rule_idx", "rule_id", "id"),
    Index("alert_deliveries_alert_idx", "alert_id"),
    Index("alert_deliveries_ended_idx", "created_at", postgresql_where=text("due_at IS NULL")),
)

# Up to where events of runs were looked at: see `metric_mark`. `ahead`: those beyond it that were, by id.
alert_mark = Table(
    "alert_mark",
    metadata,
    Column("one", Boolean, primary_key=True),
    Column("counted_xid", BigInteger, nullable=False),
    Column("low_event", BigInteger, nullable=False),
    Column("mark_xid", BigInteger, nullable=False),
    Column("mark_event", BigInteger, nullable=False),
    Column("ahead", ARRAY(BigInteger), nullable=False, server_default="{}"),
    CheckConstraint("one", name="one"),
)
