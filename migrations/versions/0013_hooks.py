"""Webhooks, the counters of /metrics, and indexes to search the audit log by.

Revision ID: 0013
Revises: 0012
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

HOOKS = """
CREATE TABLE hooks (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    app_id UUID NOT NULL,
    workflow TEXT,
    event TEXT,
    run TEXT,
    scheme TEXT NOT NULL,
    secret TEXT NOT NULL,
    input JSON NOT NULL,
    idempotency_key TEXT,
    enabled BOOLEAN DEFAULT true NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    created_by TEXT NOT NULL,
    last_called_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT hooks_pkey PRIMARY KEY (id),
    CONSTRAINT hooks_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id),
    CONSTRAINT hooks_app_id_name_key_key UNIQUE (app_id, name_key),
    CONSTRAINT hooks_scheme_check CHECK (scheme IN ('timed', 'github')),
    CONSTRAINT hooks_one_act_check CHECK (num_nonnulls(workflow, event) = 1),
    CONSTRAINT hooks_event_of_run_check CHECK ((event IS NULL) = (run IS NULL))
);

CREATE TABLE hook_calls (
    hook_id UUID NOT NULL,
    call_key TEXT NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    run_id UUID,
    CONSTRAINT hook_calls_pkey PRIMARY KEY (hook_id, call_key),
    CONSTRAINT hook_calls_hook_id_fkey FOREIGN KEY (hook_id) REFERENCES hooks (id) ON DELETE CASCADE
);

CREATE INDEX hook_calls_expires_idx ON hook_calls (expires_at);
"""

METRICS = """
CREATE TABLE metric_counts (
    name TEXT NOT NULL,
    app TEXT NOT NULL,
    workflow TEXT NOT NULL,
    count BIGINT NOT NULL,
    CONSTRAINT metric_counts_pkey PRIMARY KEY (name, app, workflow)
);

CREATE TABLE metric_mark (
    one BOOLEAN NOT NULL,
    counted_xid BIGINT NOT NULL,
    low_event BIGINT NOT NULL,
    mark_xid BIGINT NOT NULL,
    mark_event BIGINT NOT NULL,
    CONSTRAINT metric_mark_pkey PRIMARY KEY (one),
    CONSTRAINT metric_mark_one_check CHECK (one)
);
"""

AUDIT = """
CREATE INDEX audit_log_actor_idx ON audit_log (actor, id);

CREATE INDEX audit_log_action_idx ON audit_log (action, id);
"""


def upgrade() -> None:
    for script in (HOOKS, METRICS, AUDIT):
        op.get_bind().exec_driver_sql(script)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP INDEX audit_log_actor_idx, audit_log_action_idx")
    op.get_bind().exec_driver_sql("DROP TABLE metric_mark, metric_counts, hook_calls, hooks")
