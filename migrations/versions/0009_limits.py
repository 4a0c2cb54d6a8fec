"""Pools: named limits on how much runs at a time.

Revision ID: 0009
Revises: 0008
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

POOLS = """
CREATE TABLE pools (
    name TEXT NOT NULL,
    slots INTEGER NOT NULL,
    description TEXT,
    changed_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    CONSTRAINT pools_pkey PRIMARY KEY (name),
    CONSTRAINT pools_slots_check CHECK (slots >= 0)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(POOLS)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP TABLE pools")
