"""Schedules, and what was decided at each of their fire times.

Revision ID: 0017
Revises: 0016
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

SCHEDULES = """
CREATE TABLE schedules (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    app_id UUID NOT NULL,
    workflow TEXT NOT NULL,
    workflow_key TEXT NOT NULL,
    revision INTEGER,
    input JSON NOT NULL,
    tags TEXT[] DEFAULT '{}' NOT NULL,
    cron TEXT,
    interval_seconds INTEGER,
    timezone TEXT NOT NULL,
    catchup_seconds INTEGER NOT NULL,
    overlap TEXT NOT NULL,
    jitter_seconds INTEGER NOT NULL,
    max_failures INTEGER NOT NULL,
    paused_at TIMESTAMP WITH TIME ZONE,
    paused_by TEXT,
    pause_reason TEXT,
    next_fire_at TIMESTAMP WITH TIME ZONE,
    due_at TIMESTAMP WITH TIME ZONE,
    last_fire_at TIMESTAMP WITH TIME ZONE,
    last_run_id UUID,
    started_count BIGINT DEFAULT '0' NOT NULL,
    skipped_count BIGINT DEFAULT '0' NOT NULL,
    missed_count BIGINT DEFAULT '0' NOT NULL,
    failed_count BIGINT DEFAULT '0' NOT NULL,
    failures_in_row INTEGER DEFAULT 0 NOT NULL,
    error TEXT,
    error_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    created_by TEXT NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    changed_by TEXT NOT NULL,
    CONSTRAINT schedules_pkey PRIMARY KEY (id),
    CONSTRAINT schedules_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id),
    CONSTRAINT schedules_app_id_name_key_key UNIQUE (app_id, name_key),
    CONSTRAINT schedules_rule_check CHECK (num_nonnulls(cron, interval_seconds) = 1 AND interval_seconds > 0),
    CONSTRAINT schedules_overlap_check CHECK (overlap IN ('skip', 'queue', 'cancel_running', 'allow')),
    CONSTRAINT schedules_seconds_check CHECK (catchup_seconds >= 0 AND jitter_seconds >= 0 AND max_failures >= 0),
    CONSTRAINT schedules_paused_check CHECK ((paused_at IS NULL) = (paused_by IS NULL)),
    CONSTRAINT schedules_due_check CHECK (due_at IS NULL OR (paused_at IS NULL AND next_fire_at IS NOT NULL)),
    CONSTRAINT schedules_error_check CHECK ((error IS NULL) = (error_at IS NULL))
);

CREATE INDEX schedules_due_idx ON schedules (due_at) WHERE due_at IS NOT NULL;

CREATE INDEX schedules_workflow_idx ON schedules (workflow_key, next_fire_at);

CREATE TABLE schedule_fires (
    schedule_id UUID NOT NULL,
    fire_at TIMESTAMP WITH TIME ZONE NOT NULL,
    again INTEGER DEFAULT 0 NOT NULL,
    cause TEXT NOT NULL,
    status TEXT NOT NULL,
    run_id UUID,
    error TEXT,
    decided_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    CONSTRAINT schedule_fires_pkey PRIMARY KEY (schedule_id, fire_at, again),
    CONSTRAINT schedule_fires_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES schedules (id) ON DELETE CASCADE,
    CONSTRAINT schedule_fires_cause_check CHECK (cause IN ('due', 'manual', 'backfill')),
    CONSTRAINT schedule_fires_status_check CHECK (
        status IN ('waiting', 'dropped', 'refused', 'started', 'succeeded', 'failed', 'canceled')
    ),
    CONSTRAINT schedule_fires_run_check CHECK (
        (run_id IS NULL) = (status IN ('waiting', 'dropped', 'refused'))
    ),
    CONSTRAINT schedule_fires_error_check CHECK ((error IS NULL) = (status <> 'refused'))
);

CREATE UNIQUE INDEX schedule_fires_run_idx ON schedule_fires (run_id) WHERE run_id IS NOT NULL;

CREATE INDEX schedule_fires_runs_idx ON schedule_fires (schedule_id, run_id) WHERE run_id IS NOT NULL;

CREATE INDEX schedule_fires_open_idx ON schedule_fires (schedule_id, cause) WHERE status = 'started';

CREATE INDEX schedule_fires_waiting_idx ON schedule_fires (schedule_id, fire_at, again) WHERE status = 'waiting';

CREATE TABLE schedule_gaps (
    schedule_id UUID NOT NULL,
    first_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_at TIMESTAMP WITH TIME ZONE NOT NULL,
    count BIGINT,
    reason TEXT NOT NULL,
    noted_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    CONSTRAINT schedule_gaps_pkey PRIMARY KEY (schedule_id, first_at),
    CONSTRAINT schedule_gaps_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES schedules (id) ON DELETE CASCADE,
    CONSTRAINT schedule_gaps_reason_check CHECK (
        reason IN ('missed', 'overlap', 'queue_full', 'superseded', 'paused')
    ),
    CONSTRAINT schedule_gaps_order_check CHECK (first_at <= last_at)
);

CREATE INDEX schedule_gaps_last_idx ON schedule_gaps (schedule_id, last_at);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SCHEDULES)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP TABLE schedule_gaps, schedule_fires, schedules")
