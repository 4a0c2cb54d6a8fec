"""The audit log by time.

Revision ID: 0016
Revises: 0014
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0014"
branch_labels = None
depends_on = None

INDEXES = """
CREATE INDEX audit_log_at_idx ON audit_log (at);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(INDEXES)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP INDEX audit_log_at_idx")
