"""What processes have measured, added up; and up to where ended runs have been told as traces.

Revision ID: 0022
Revises: 0021
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

MEASURED = """
CREATE TABLE measured (
    name TEXT NOT NULL,
    label TEXT NOT NULL,
    counts BIGINT[] NOT NULL,
    total DOUBLE PRECISION NOT NULL,
    CONSTRAINT measured_pkey PRIMARY KEY (name, label)
) WITH (fillfactor = 50);

CREATE TABLE trace_mark (
    one BOOLEAN NOT NULL,
    counted_xid BIGINT NOT NULL,
    low_event BIGINT NOT NULL,
    mark_xid BIGINT NOT NULL,
    mark_event BIGINT NOT NULL,
    CONSTRAINT trace_mark_pkey PRIMARY KEY (one),
    CONSTRAINT trace_mark_one_check CHECK (one)
);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(MEASURED)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP TABLE trace_mark, measured")
