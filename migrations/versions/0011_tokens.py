"""Tokens of the API and the admin pages.

Revision ID: 0011
Revises: 0010
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

TOKENS = """
CREATE TABLE api_tokens (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    role TEXT NOT NULL,
    app_id UUID,
    token_hash TEXT NOT NULL,
    password_hash TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    created_by TEXT NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    last_used_at TIMESTAMP WITH TIME ZONE,
    revoked_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT api_tokens_pkey PRIMARY KEY (id),
    CONSTRAINT api_tokens_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps (id),
    CONSTRAINT api_tokens_token_hash_key UNIQUE (token_hash),
    CONSTRAINT api_tokens_role_check CHECK (role IN ('viewer', 'operator', 'author', 'admin'))
);

CREATE UNIQUE INDEX api_tokens_name_key_idx ON api_tokens (name_key) WHERE revoked_at IS NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(TOKENS)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP TABLE api_tokens")
