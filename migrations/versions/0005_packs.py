"""Packs: workflows installed and removed as one unit.

Revision ID: 0005
Revises: 0004
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

PACKS = """
CREATE TABLE packs (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL,
    app_id UUID,
    group_id UUID,
    version TEXT,
    label TEXT,
    description TEXT,
    installed_at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    upgraded_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT packs_pkey PRIMARY KEY (id),
    CONSTRAINT packs_one_owner_check CHECK (num_nonnulls(app_id, group_id) = 1),
    CONSTRAINT packs_app_id_name_key_key UNIQUE (app_id, name_key),
    CONSTRAINT packs_group_id_name_key_key UNIQUE (group_id, name_key),
    CONSTRAINT packs_app_id_fkey FOREIGN KEY(app_id) REFERENCES apps (id),
    CONSTRAINT packs_group_id_fkey FOREIGN KEY(group_id) REFERENCES groups (id)
);

ALTER TABLE workflows ADD COLUMN pack_id UUID, ADD COLUMN deleted_at TIMESTAMP WITH TIME ZONE,
    ADD CONSTRAINT workflows_deleted_from_its_pack_check CHECK (deleted_at IS NULL OR pack_id IS NULL),
    ADD CONSTRAINT workflows_pack_id_fkey FOREIGN KEY(pack_id) REFERENCES packs (id);

CREATE INDEX workflows_pack_idx ON workflows (pack_id) WHERE pack_id IS NOT NULL;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(PACKS)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("ALTER TABLE workflows DROP COLUMN pack_id, DROP COLUMN deleted_at; DROP TABLE packs")
