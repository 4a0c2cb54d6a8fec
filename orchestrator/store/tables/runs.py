"""Runs, their steps, and what happens to them.

Hot tables (steps, attempts, logs, events) carry no foreign keys but the step's to its run: they are written many
times a second and removed with their run.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from orchestrator.domain.states import RUN_OPEN, RUN_TERMINAL, STEP_OPEN
from orchestrator.store.item_columns import item_columns
from orchestrator.store.tables.base import NOW, Id, Instant, metadata, one_of
from orchestrator.store.tables.checks import RUN_CHECK, STEP_CHECK

# What is searched of a run's input; one that is larger would cost its start more than it is worth. Inlined where it is
# used, and so not STRICT.
SEARCHED = "orchestrator_searched(input)"
SEARCHED_FUNCTION = """
CREATE FUNCTION orchestrator_searched(input json) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(CAST(input AS text)) <= 1000 THEN CAST(input AS jsonb) END;
"""

workflow_runs = Table(
    "workflow_runs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("workflow_id", Id, nullable=False),
    Column("revision_id", Id, ForeignKey("workflow_revisions.id"), nullable=False),
    Column("app_id", Id, ForeignKey("apps.id"), nullable=False),
    Column("status", Text, nullable=False),
    # What the run will end as, once its lifecycle handlers are through.
    Column("final_status", Text),
    # Lifecycle handlers: 0 none yet, 1 the one for the status, 2 on_finish.
    Column("handler_stage", SmallInteger, nullable=False, server_default="0"),
    # Set with the failure that stops the run, cleared once its other steps are stopped.
    Column("halting", Text),
    Column("input", JSON, nullable=False),
    Column("vars", JSON, nullable=False),
    Column("output", JSON),
    Column("error", JSON),
    Column("tags", ARRAY(Text), nullable=False, server_default="{}"),
    Column("idempotency_key", Text),
    # Whose `max_active_runs` it counts for: the text of `concurrency_key`; NULL without a limit.
    Column("limit_key", Text),
    Column("root_id", Id, nullable=False),
    Column("parent_run_id", Id),
    # The step that started it; whether that step counts on its end, which it is still to be told; and whether it is
    # paused because its parent is.
    Column("parent_step_id", Id),
    Column("parent_waits", Boolean, nullable=False, server_default="false"),
    Column("paused_with_parent", Boolean, nullable=False, server_default="false"),
    Column("depth", Integer, nullable=False, server_default="0"),
    Column("step_count", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("started_at", Instant),
    Column("finished_at", Instant),
    Column("deadline_at", Instant),
    Column("paused_at", Instant),
    Column("pause_reason", Text),
    Column("cancel_reason", Text),
    # The run it repeats, which may be deleted by now.
    Column("rerun_of_id", Id),
    Index(
        "workflow_runs_idempotency_idx",
        "workflow_id",
        "app_id",
        "idempotency_key",
        unique=True,
        postgresql_where=text("idempotency_key IS NOT NULL"),
    ),
    RUN_CHECK.constraint(),
    Index("workflow_runs_created_idx", "app_id", "id"),
    Index("workflow_runs_workflow_idx", "workflow_id", "id"),
    Index("workflow_runs_root_idx", "root_id"),
    Index("workflow_runs_parent_idx", "parent_run_id", "id", postgresql_where=text("parent_run_id IS NOT NULL")),
    Index("workflow_runs_child_idx", "id", postgresql_where=text(f"parent_waits AND status IN {one_of(RUN_OPEN)}")),
    Index(
        "workflow_runs_untold_idx", "id", postgresql_where=text(f"parent_waits AND status IN {one_of(RUN_TERMINAL)}")
    ),
    Index("workflow_runs_halting_idx", "id", postgresql_where=text("halting IS NOT NULL")),
    Index(
        "workflow_runs_limit_idx",
        "workflow_id",
        "limit_key",
        "status",
        "id",
        postgresql_where=text(f"status IN {one_of(RUN_OPEN)} AND limit_key IS NOT NULL"),
    ),
    Index("workflow_runs_open_idx", "id", postgresql_where=text(f"status IN {one_of(RUN_OPEN)}")),
    # For lists of rare runs: by the primary key they would read everything between two of them.
    Index("workflow_runs_stopped_idx", "id", postgresql_where=text("status IN ('canceled', 'failed')")),
    # How many there were of each status over time, without a look at the table.
    Index("workflow_runs_over_time_idx", "id", postgresql_include=["status", "app_id"]),
    Index("workflow_runs_error_idx", "id", postgresql_where=text("error IS NOT NULL")),
    Index("workflow_runs_tags_idx", "tags", postgresql_using="gin", postgresql_where=text("tags <> '{}'")),
    Index(
        "workflow_runs_input_idx",
        literal_column(SEARCHED).label("searched"),
        postgresql_using="gin",
        postgresql_ops={"searched": "jsonb_path_ops"},
    ),
    Index(
        "workflow_runs_deadline_idx",
        "deadline_at",
        postgresql_where=text(f"status IN {one_of(RUN_OPEN)} AND deadline_at IS NOT NULL"),
    ),
    postgresql_with={"fillfactor": 80},
)

# A step that was woken goes on in the slots it holds.
HOLDS_SLOTS = (
    "pool IS NOT NULL AND (status IN ('queued', 'running', 'waiting') OR (status = 'ready' AND wait IS NOT NULL))"
)
WAITS_FOR_SLOTS = "status = 'ready' AND next_attempt_at IS NULL AND pool IS NOT NULL AND wait IS NULL"

workflow_run_steps = Table(
    "workflow_run_steps",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run_id", Id, ForeignKey("workflow_runs.id", ondelete="CASCADE"), nullable=False),
    # Its run's: whose turn it is among the apps (docs/adr/0020).
    Column("app_id", Id, nullable=False),
    Column("position", Integer, nullable=False),
    Column("name", Text, nullable=False),
    # What it calls, NULL for a pass step; and whether nothing depends on it: what batches need to know of it.
    Column("function", Text),
    Column("leaf", Boolean, nullable=False, server_default="false"),
    Column("status", Text, nullable=False),
    Column("reason", Text),
    Column("queue", Text),
    Column("priority", SmallInteger, nullable=False, server_default="0"),
    # The pool whose slots it takes, from `queued` to the end of its attempt.
    Column("pool", Text),
    Column("slots", Integer, nullable=False, server_default="1"),
    # The tally of its sources (domain/rules.py).
    Column("source_count", Integer, nullable=False),
    Column("remaining_sources", Integer, nullable=False),
    Column("satisfied_sources", Integer, nullable=False, server_default="0"),
    Column("failed_sources", Integer, nullable=False, server_default="0"),
    Column("upstream_failed_sources", Integer, nullable=False, server_default="0"),
    Column("skipped_sources", Integer, nullable=False, server_default="0"),
    Column("edge_errors", Integer, nullable=False, server_default="0"),
    # Evaluated edge conditions by edge index: true, false or the error's text.
    Column("edge_truth", JSON),
    # Tries so far, lost ones included; those before `attempt_base` belong to an earlier life of the step.
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("attempt_base", Integer, nullable=False, server_default="0"),
    Column("lost_count", Integer, nullable=False, server_default="0"),
    # NULL: as the function's own retry says.
    Column("max_attempts", Integer),
    Column("claim_token", Id),
    Column("worker_id", Text),
    Column("queued_at", Instant),
    Column("lease_expires_at", Instant),
    Column("attempt_deadline_at", Instant),
    Column("total_deadline_at", Instant),
    Column("next_attempt_at", Instant),
    Column("cancel_requested_at", Instant),
    Column("ready_at", Instant),
    Column("started_at", Instant),
    Column("finished_at", Instant),
    Column("input", JSON),
    Column("output", JSON),
    Column("error", JSON),
    Column("progress", JSON),
    # What it waits or waited for without a worker (services/kinds/), and when it stops waiting at the latest.
    Column("wait", JSON),
    Column("wake_at", Instant),
    # An operator holds it: it is not dispatched or taken.
    Column("held_at", Instant),
    Column("held_by", Text),
    Column("hold_reason", Text),
    # The step of an earlier run whose end it took over (services/rerun.py).
    Column("reused_step_id", Id),
    *item_columns(),
    UniqueConstraint("run_id", "position"),
    STEP_CHECK.constraint(),
    # With the position, so that looking for one open step of a run never reads the others.
    Index("steps_open_idx", "run_id", "position", postgresql_where=text(f"status IN {one_of(STEP_OPEN)}")),
    Index(
        "steps_ready_idx",
        "queue",
        text("(pool IS NULL OR wait IS NOT NULL)"),
        text("priority DESC"),
        "app_id",
        "ready_at",
        "id",
        postgresql_where=text("status = 'ready' AND next_attempt_at IS NULL AND held_at IS NULL"),
    ),
    Index(
        "steps_retry_idx",
        "next_attempt_at",
        postgresql_where=text("status = 'ready' AND next_attempt_at IS NOT NULL"),
    ),
    Index("steps_pool_held_idx", "pool", postgresql_where=text(HOLDS_SLOTS)),
    Index("steps_pool_queue_idx", "queue", "pool", postgresql_where=text(WAITS_FOR_SLOTS)),
    Index(
        "steps_pool_ready_idx",
        "pool",
        text("priority DESC"),
        "app_id",
        "ready_at",
        "id",
        postgresql_where=text(WAITS_FOR_SLOTS),
    ),
    Index("steps_queued_idx", "queue", "queued_at", postgresql_where=text("status = 'queued'")),
    Index("steps_running_idx", "worker_id", postgresql_where=text("status = 'running'")),
    Index(
        "steps_total_deadline_idx",
        "total_deadline_at",
        postgresql_where=text("status IN ('ready', 'queued') AND total_deadline_at IS NOT NULL"),
    ),
    Index("steps_waiting_idx", text("(wait ->> 'for')"), "id", postgresql_where=text("status = 'waiting'")),
    Index(
        "steps_event_idx",
        "run_id",
        text("(wait ->> 'event')"),
        "position",
        postgresql_where=text("status = 'waiting' AND (wait ->> 'event') IS NOT NULL"),
    ),
    Index("steps_wake_idx", "wake_at", postgresql_where=text("status = 'waiting' AND wake_at IS NOT NULL")),
    postgresql_with={"fillfactor": 70},
)

workflow_step_attempts = Table(
    "workflow_step_attempts",
    metadata,
    Column("step_id", Id, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("outcome", Text, nullable=False),
    Column("error", JSON),
    Column("worker_id", Text),
    Column("started_at", Instant),
    Column("finished_at", Instant, nullable=False),
    Column("retry_at", Instant),
)

# Events and decisions; `step_id`: the step that has taken it.
workflow_signals = Table(
    "workflow_signals",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("run_id", Id, ForeignKey("workflow_runs.id", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("actor", Text, nullable=False),
    Column("sent_at", Instant, nullable=False, server_default=NOW),
    Column("step_id", Id),
    Index("workflow_signals_run_idx", "run_id", "name", "id"),
)

step_logs = Table(
    "step_logs",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("run_id", Id, nullable=False),
    Column("step_id", Id, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("at", Instant, nullable=False),
    Column("stream", Text, nullable=False),
    Column("level", Text, nullable=False),
    Column("message", Text, nullable=False),
    CheckConstraint("stream IN ('stdout', 'stderr', 'log')", name="stream"),
    Index("step_logs_run_idx", "run_id", "id"),
)

run_events = Table(
    "run_events",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("run_id", Id, nullable=False),
    Column("step_id", Id),
    Column("kind", Text, nullable=False),
    Column("at", Instant, nullable=False, server_default=NOW),
    Column("data", JSON),
    Index("run_events_run_idx", "run_id", "id"),
)
