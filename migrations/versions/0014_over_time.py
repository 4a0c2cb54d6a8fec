"""What the pages of the admin UI count.

Revision ID: 0014
Revises: 0013
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

INDEX = "CREATE INDEX workflow_runs_over_time_idx ON workflow_runs (id) INCLUDE (status, app_id)"


def upgrade() -> None:
    op.get_bind().exec_driver_sql(INDEX)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP INDEX workflow_runs_over_time_idx")
