"""What operators' verbs leave on a run and on a step.

Revision ID: 0004
Revises: 0003
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


UPGRADE = """
-- The run it repeats.
ALTER TABLE workflow_runs ADD COLUMN rerun_of_id UUID;

-- Held: not dispatched or taken until it is released. Reused: its end is that of this step of an earlier run.
ALTER TABLE workflow_run_steps ADD COLUMN held_at TIMESTAMP WITH TIME ZONE, ADD COLUMN held_by TEXT,
  ADD COLUMN hold_reason TEXT, ADD COLUMN reused_step_id UUID;
ALTER TABLE workflow_run_steps ADD CONSTRAINT workflow_run_steps_held_check
  CHECK ((held_by IS NOT NULL) = (held_at IS NOT NULL));
ALTER TABLE workflow_run_steps ADD CONSTRAINT workflow_run_steps_held_is_not_sent_check
  CHECK (held_at IS NULL OR status <> 'queued');

DROP INDEX steps_ready_idx;
CREATE INDEX steps_ready_idx ON workflow_run_steps
  (queue, (pool IS NULL OR wait IS NOT NULL), priority DESC, app_id, ready_at, id)
  WHERE status = 'ready' AND next_attempt_at IS NULL AND held_at IS NULL;

-- Acts of one bulk share an id.
ALTER TABLE audit_log ADD COLUMN bulk_id UUID;
CREATE INDEX audit_log_bulk_idx ON audit_log (bulk_id, id) WHERE bulk_id IS NOT NULL;
"""

DOWNGRADE = """
DROP INDEX audit_log_bulk_idx;
ALTER TABLE audit_log DROP COLUMN bulk_id;
DROP INDEX steps_ready_idx;
CREATE INDEX steps_ready_idx ON workflow_run_steps
  (queue, (pool IS NULL OR wait IS NOT NULL), priority DESC, app_id, ready_at, id)
  WHERE status = 'ready' AND next_attempt_at IS NULL;
ALTER TABLE workflow_run_steps DROP COLUMN held_at, DROP COLUMN held_by, DROP COLUMN hold_reason,
  DROP COLUMN reused_step_id;
ALTER TABLE workflow_runs DROP COLUMN rerun_of_id;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(UPGRADE)


def downgrade() -> None:
    op.get_bind().exec_driver_sql(DOWNGRADE)
