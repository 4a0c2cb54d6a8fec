"""A run's link to the step that started it.

Revision ID: 0007
Revises: 0006
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

CHILDREN = """
ALTER TABLE workflow_runs
  ADD COLUMN parent_step_id UUID,
  ADD COLUMN parent_waits BOOLEAN DEFAULT 'false' NOT NULL,
  ADD COLUMN paused_with_parent BOOLEAN DEFAULT 'false' NOT NULL;

CREATE INDEX workflow_runs_parent_idx ON workflow_runs (parent_run_id, id) WHERE parent_run_id IS NOT NULL;

CREATE INDEX workflow_runs_child_idx ON workflow_runs (id)
  WHERE parent_waits AND status IN ('canceling', 'paused', 'pending', 'running');

CREATE INDEX workflow_runs_untold_idx ON workflow_runs (id)
  WHERE parent_waits AND status IN ('canceled', 'failed', 'succeeded');

CREATE TABLE workflow_children (
    parent_step_id UUID NOT NULL,
    attempt INTEGER NOT NULL,
    child_run_id UUID NOT NULL,
    parent_run_id UUID NOT NULL,
    workflow_id UUID NOT NULL,
    child_id TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    CONSTRAINT workflow_children_pkey PRIMARY KEY (parent_step_id, attempt, child_run_id),
    CONSTRAINT workflow_children_child_run_id_fkey FOREIGN KEY(child_run_id) REFERENCES workflow_runs (id)
      ON DELETE CASCADE
);

CREATE INDEX workflow_children_child_idx ON workflow_children (child_run_id);

CREATE INDEX workflow_children_parent_idx ON workflow_children (parent_run_id);

CREATE UNIQUE INDEX workflow_children_named_idx ON workflow_children (workflow_id, child_id)
  WHERE child_id IS NOT NULL;

CREATE VIEW workflow_workflow_link AS
SELECT DISTINCT step ->> 'workflow' AS sub_workflow, w.name AS workflow, v.number AS revision,
       v.number = w.latest_revision AS latest, step ->> 'name' AS step, w.id AS workflow_id
FROM workflow_revisions v
JOIN workflows w ON w.id = v.workflow_id
CROSS JOIN LATERAL json_array_elements(v.document -> 'steps') AS step
WHERE step ->> 'workflow' IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(CHILDREN)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("""
DROP VIEW workflow_workflow_link;
DROP TABLE workflow_children;
ALTER TABLE workflow_runs DROP COLUMN paused_with_parent, DROP COLUMN parent_waits, DROP COLUMN parent_step_id;
""")
