"""Results of functions that may be used again.

Revision ID: 0010
Revises: 0009
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

RESULTS = """
CREATE TABLE function_results (
    app TEXT NOT NULL,
    function TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    output JSON NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT function_results_pkey PRIMARY KEY (app, function, key_hash)
);

CREATE INDEX function_results_expires_idx ON function_results (expires_at);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(RESULTS)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP TABLE function_results")
