"""Schedules, and what was decided at each of their fire times."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from orchestrator.store.tables.base import NOW, Id, Instant, metadata

# `workflow` is a name, as the app sees it. `next_fire_at`: the first fire time not decided yet; `due_at`: that and its
# jitter, unless it is paused. The counts are of fire times: with a run, passed over, older than the catch-up window,
# and those whose run could not be started.
schedules = Table(
    "schedules",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False),
    Column("app_id", Id, ForeignKey("apps.id"), nullable=False),
    Column("workflow", Text, nullable=False),
    Column("workflow_key", Text, nullable=False),
    Column("revision", Integer),
    Column("input", JSON, nullable=False),
    Column("tags", ARRAY(Text), nullable=False, server_default="{}"),
    Column("cron", Text),
    Column("interval_seconds", Integer),
    Column("timezone", Text, nullable=False),
    Column("catchup_seconds", Integer, nullable=False),
    Column("overlap", Text, nullable=False),
    Column("jitter_seconds", Integer, nullable=False),
    Column("max_failures", Integer, nullable=False),
    Column("paused_at", Instant),
    Column("paused_by", Text),
    Column("pause_reason", Text),
    Column("next_fire_at", Instant),
    Column("due_at", Instant),
    Column("last_fire_at", Instant),
    Column("last_run_id", Id),
    Column("started_count", BigInteger, nullable=False, server_default="0"),
    Column("skipped_count", BigInteger, nullable=False, server_default="0"),
    Column("missed_count", BigInteger, nullable=False, server_default="0"),
    Column("failed_count", BigInteger, nullable=False, server_default="0"),
    Column("failures_in_row", Integer, nullable=False, server_default="0"),
    Column("error", Text),
    Column("error_at", Instant),
    Column("created_at", Instant, nullable=False, server_default=NOW),
    Column("created_by", Text, nullable=False),
    Column("changed_at", Instant, nullable=False, server_default=NOW),
    Column("changed_by", Text, nullable=False),
    UniqueConstraint("app_id", "name_key"),
    CheckConstraint("num_nonnulls(cron, interval_seconds) = 1 AND interval_seconds > 0", name="rule"),
    CheckConstraint("overlap IN ('skip', 'queue', 'cancel_running', 'allow')", name="overlap"),
    CheckConstraint("catchup_seconds >= 0 AND jitter_seconds >= 0 AND max_failures >= 0", name="seconds"),
    CheckConstraint("(paused_at IS NULL) = (paused_by IS NULL)", name="paused"),
    CheckConstraint("due_at IS NULL OR (paused_at IS NULL AND next_fire_at IS NOT NULL)", name="due"),
    CheckConstraint("(error IS NULL) = (error_at IS NULL)", name="error"),
    Index("schedules_due_idx", "due_at", postgresql_where=text("due_at IS NOT NULL")),
    Index("schedules_workflow_idx", "workflow_key", "next_fire_at"),
)

# One row for each fire time that has a run, is to have one (`waiting`), or could have had one. `again` counts the
# backfills of the same time after the first. `refused`: its run could not be started; `dropped`: it waited, and a later
# one took its place. The others are how its run stands, `started` until that has ended.
schedule_fires = Table(
    "schedule_fires",
    metadata,
    Column("schedule_id", Id, ForeignKey("schedules.id", ondelete="CASCADE"), primary_key=True),
    Column("fire_at", Instant, primary_key=True),
    Column("again", Integer, primary_key=True, server_default="0"),
    Column("cause", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("run_id", Id),
    Column("error", Text),
    Column("decided_at", Instant, nullable=False, server_default=NOW),
    CheckConstraint("cause IN ('due', 'manual', 'backfill')", name="cause"),
    CheckConstraint(
        "status IN ('waiting', 'dropped', 'refused', 'started', 'succeeded', 'failed', 'canceled')", name="status"
    ),
    CheckConstraint("(run_id IS NULL) = (status IN ('waiting', 'dropped', 'refused'))", name="run"),
    CheckConstraint("(error IS NULL) = (status <> 'refused')", name="error"),
    Index("schedule_fires_run_idx", "run_id", unique=True, postgresql_where=text("run_id IS NOT NULL")),
    Index("schedule_fires_runs_idx", "schedule_id", "run_id", postgresql_where=text("run_id IS NOT NULL")),
    Index("schedule_fires_open_idx", "schedule_id", "cause", postgresql_where=text("status = 'started'")),
    Index("schedule_fires_waiting_idx", "schedule_id", "fire_at", "again", postgresql_where=text("status = 'waiting'")),
)

# Fire times in a row that were passed over; `count` NULL: more than are counted.
schedule_gaps = Table(
    "schedule_gaps",
    metadata,
    Column("schedule_id", Id, ForeignKey("schedules.id", ondelete="CASCADE"), primary_key=True),
    Column("first_at", Instant, primary_key=True),
    Column("last_at", Instant, nullable=False),
    Column("count", BigInteger),
    Column("reason", Text, nullable=False),
    Column("noted_at", Instant, nullable=False, server_default=NOW),
    CheckConstraint("reason IN ('missed', 'overlap', 'queue_full', 'superseded', 'paused')", name="reason"),
    CheckConstraint("first_at <= last_at", name="order"),
    Index("schedule_gaps_last_idx", "schedule_id", "last_at"),
)
