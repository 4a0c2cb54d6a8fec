"""How often functions are called at most.

Revision ID: 0003
Revises: 0002
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

RATES = """
CREATE TABLE function_rates (
    function TEXT NOT NULL,
    arrival_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT function_rates_pkey PRIMARY KEY (function)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(RATES)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP TABLE function_rates")
