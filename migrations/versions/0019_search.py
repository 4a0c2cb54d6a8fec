"""Search of runs by values of their input.

Revision ID: 0019
Revises: 0018
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

from orchestrator.store.online import build_index

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

SEARCHED = """
CREATE OR REPLACE FUNCTION orchestrator_searched(input json) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(CAST(input AS text)) <= 1000 THEN CAST(input AS jsonb) END;
"""
INDEXES = {
    "workflow_runs_input_idx": "workflow_runs USING gin (orchestrator_searched(input) jsonb_path_ops)",
    "workflow_revisions_secret_idx": "workflow_revisions (workflow_id)"
    " WHERE strpos(CAST(document AS text), 'writeOnly') > 0",
}


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SEARCHED)
    for name, on in INDEXES.items():
        build_index(op.get_context(), name, on)


def downgrade() -> None:
    op.get_bind().exec_driver_sql(
        "DROP INDEX workflow_runs_input_idx; DROP INDEX workflow_revisions_secret_idx;"
        " DROP FUNCTION orchestrator_searched(json)"
    )
