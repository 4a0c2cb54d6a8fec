"""How long what has ended is kept.

Revision ID: 0021
Revises: 0020
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

RETENTION = """
CREATE TABLE retention_rules (
    what TEXT NOT NULL,
    app_key TEXT DEFAULT '' NOT NULL,
    workflow_key TEXT DEFAULT '' NOT NULL,
    status TEXT DEFAULT '' NOT NULL,
    app TEXT,
    workflow TEXT,
    keep_seconds BIGINT,
    keep_newest INTEGER,
    changed_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    changed_by TEXT NOT NULL,
    CONSTRAINT retention_rules_pkey PRIMARY KEY (what, app_key, workflow_key, status),
    CONSTRAINT retention_rules_status_check CHECK (status IN ('', 'succeeded', 'failed', 'canceled')),
    CONSTRAINT retention_rules_bounds_check CHECK (keep_seconds >= 0 AND keep_newest >= 0),
    CONSTRAINT retention_rules_runs_check CHECK (
        what = 'runs' OR (app_key = '' AND workflow_key = '' AND status = '' AND keep_newest IS NULL)
    )
);

CREATE TABLE retention_turn (
    one BOOLEAN NOT NULL,
    holder TEXT NOT NULL,
    free_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT retention_turn_pkey PRIMARY KEY (one),
    CONSTRAINT retention_turn_one_check CHECK (one)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(RETENTION)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP TABLE retention_turn, retention_rules")
