"""Alerts, their deliveries, and whether a beat hears NOTIFY.

Revision ID: 0020
Revises: 0019
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

LISTENING = "ALTER TABLE workers ADD COLUMN listening BOOLEAN"

ALERTS = """
CREATE TABLE alert_rules (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    app_id UUID,
    kinds TEXT[] NOT NULL,
    severity TEXT NOT NULL,
    workflow TEXT,
    workflow_key TEXT,
    tags TEXT[] DEFAULT '{}' NOT NULL,
    queue TEXT,
    late_seconds INTEGER,
    stuck_seconds INTEGER NOT NULL,
    group_seconds INTEGER NOT NULL,
    repeat_seconds INTEGER NOT NULL,
    resolved BOOLEAN NOT NULL,
    webhook TEXT,
    url TEXT,
    secret TEXT,
    emails TEXT[] DEFAULT '{}' NOT NULL,
    paused_at TIMESTAMP WITH TIME ZONE,
    paused_by TEXT,
    pause_reason TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    created_by TEXT NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    changed_by TEXT NOT NULL,
    CONSTRAINT alert_rules_pkey PRIMARY KEY (id),
    CONSTRAINT alert_rules_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id),
    CONSTRAINT alert_rules_kinds_check CHECK (cardinality(kinds) > 0),
    CONSTRAINT alert_rules_severity_check CHECK (severity IN ('critical', 'info', 'warning')),
    CONSTRAINT alert_rules_seconds_check CHECK (
        stuck_seconds > 0 AND group_seconds >= 0 AND repeat_seconds > 0 AND late_seconds > 0
    ),
    CONSTRAINT alert_rules_webhook_check CHECK (
        (webhook IS NULL) = (url IS NULL) AND (secret IS NULL OR url IS NOT NULL)
    ),
    CONSTRAINT alert_rules_channel_check CHECK (url IS NOT NULL OR cardinality(emails) > 0),
    CONSTRAINT alert_rules_paused_check CHECK ((paused_at IS NULL) = (paused_by IS NULL))
);

CREATE UNIQUE INDEX alert_rules_name_idx
    ON alert_rules (coalesce(app_id, '00000000-0000-0000-0000-000000000000'::uuid), name_key);

CREATE TABLE alerts (
    id UUID NOT NULL,
    rule_id UUID NOT NULL,
    kind TEXT NOT NULL,
    what TEXT NOT NULL,
    subject JSON NOT NULL,
    total BIGINT NOT NULL,
    unsent BIGINT NOT NULL,
    opened_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    last_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    sent_at TIMESTAMP WITH TIME ZONE,
    due_at TIMESTAMP WITH TIME ZONE,
    closed_at TIMESTAMP WITH TIME ZONE,
    outcome TEXT,
    CONSTRAINT alerts_pkey PRIMARY KEY (id),
    CONSTRAINT alerts_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES alert_rules (id) ON DELETE CASCADE,
    CONSTRAINT alerts_outcome_check CHECK (outcome IN ('paused', 'quiet', 'resolved')),
    CONSTRAINT alerts_closed_check CHECK ((closed_at IS NULL) = (outcome IS NULL)),
    CONSTRAINT alerts_due_check CHECK ((closed_at IS NULL) = (due_at IS NOT NULL))
);

CREATE UNIQUE INDEX alerts_open_idx ON alerts (rule_id, kind, what) WHERE closed_at IS NULL;

CREATE INDEX alerts_due_idx ON alerts (due_at) WHERE due_at IS NOT NULL;

CREATE INDEX alerts_rule_idx ON alerts (rule_id, id);

CREATE TABLE alert_runs (
    alert_id UUID NOT NULL,
    run_id UUID NOT NULL,
    CONSTRAINT alert_runs_pkey PRIMARY KEY (alert_id, run_id),
    CONSTRAINT alert_runs_alert_id_fkey FOREIGN KEY (alert_id) REFERENCES alerts (id) ON DELETE CASCADE
);

CREATE INDEX alert_runs_run_idx ON alert_runs (run_id);

CREATE TABLE alert_deliveries (
    id UUID NOT NULL,
    rule_id UUID NOT NULL,
    alert_id UUID,
    channel TEXT NOT NULL,
    state TEXT NOT NULL,
    message JSON NOT NULL,
    attempts INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    due_at TIMESTAMP WITH TIME ZONE,
    sent_at TIMESTAMP WITH TIME ZONE,
    given_up_at TIMESTAMP WITH TIME ZONE,
    error TEXT,
    CONSTRAINT alert_deliveries_pkey PRIMARY KEY (id),
    CONSTRAINT alert_deliveries_rule_id_fkey FOREIGN KEY (rule_id) REFERENCES alert_rules (id) ON DELETE CASCADE,
    CONSTRAINT alert_deliveries_alert_id_fkey FOREIGN KEY (alert_id) REFERENCES alerts (id) ON DELETE CASCADE,
    CONSTRAINT alert_deliveries_channel_check CHECK (channel IN ('email', 'webhook')),
    CONSTRAINT alert_deliveries_state_check CHECK (state IN ('firing', 'resolved', 'test')),
    CONSTRAINT alert_deliveries_due_check CHECK (num_nonnulls(due_at, sent_at, given_up_at) = 1)
);

CREATE INDEX alert_deliveries_due_idx ON alert_deliveries (rule_id, channel, id) WHERE due_at IS NOT NULL;

CREATE INDEX alert_deliveries_rule_idx ON alert_deliveries (rule_id, id);

CREATE INDEX alert_deliveries_alert_idx ON alert_deliveries (alert_id);

CREATE INDEX alert_deliveries_ended_idx ON alert_deliveries (created_at) WHERE due_at IS NULL;

CREATE TABLE alert_mark (
    one BOOLEAN NOT NULL,
    counted_xid BIGINT NOT NULL,
    low_event BIGINT NOT NULL,
    mark_xid BIGINT NOT NULL,
    mark_event BIGINT NOT NULL,
    ahead BIGINT[] DEFAULT '{}' NOT NULL,
    CONSTRAINT alert_mark_pkey PRIMARY KEY (one),
    CONSTRAINT alert_mark_one_check CHECK (one)
);
"""


def upgrade() -> None:
    for script in (LISTENING, ALERTS):
        op.get_bind().exec_driver_sql(script)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP TABLE alert_mark, alert_deliveries, alert_runs, alerts, alert_rules")
    op.get_bind().exec_driver_sql("ALTER TABLE workers DROP COLUMN listening")
