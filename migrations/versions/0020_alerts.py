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


def upgrade() -> None:
    op.get_bind().exec_driver_sql(LISTENING)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("ALTER TABLE workers DROP COLUMN listening")
