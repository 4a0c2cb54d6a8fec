"""Who owns workflows, and what they are."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from orchestrator.store.tables.base import NOW, Id, Instant, metadata

groups = Table(
    "groups",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False, unique=True),
    Column("created_at", Instant, nullable=False, server_default=NOW),
)

apps = Table(
    "apps",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False, unique=True),
    Column("group_id", Id, ForeignKey("groups.id")),
    Column("config", JSON, nullable=False, server_default="{}"),
    Column("created_at", Instant, nullable=False, server_default=NOW),
)

packs = Table(
    "packs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False),
    Column("app_id", Id, ForeignKey("apps.id")),
    Column("group_id", Id, ForeignKey("groups.id")),
    Column("version", Text),
    Column("label", Text),
    Column("description", Text),
    Column("installed_at", Instant, nullable=False, server_default=NOW),
    Column("upgraded_at", Instant),
    CheckConstraint("num_nonnulls(app_id, group_id) = 1", name="one_owner"),
    UniqueConstraint("app_id", "name_key"),
    UniqueConstraint("group_id", "name_key"),
)

workflows = Table(
    "workflows",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False),
    Column("app_id", Id, ForeignKey("apps.id")),
    Column("group_id", Id, ForeignKey("groups.id")),
    Column("latest_revision", Integer, nullable=False),
    Column("created_at", Instant, nullable=False, server_default=NOW),
    # The pack it came with; and since when it is no longer there: its runs keep their revision.
    Column("pack_id", Id, ForeignKey("packs.id")),
    Column("deleted_at", Instant),
    CheckConstraint("num_nonnulls(app_id, group_id) = 1", name="one_owner"),
    UniqueConstraint("app_id", "name_key"),
    UniqueConstraint("group_id", "name_key"),
    CheckConstraint("deleted_at IS NULL OR pack_id IS NULL", name="deleted_from_its_pack"),
    Index("workflows_pack_idx", "pack_id", postgresql_where=text("pack_id IS NOT NULL")),
)

workflow_revisions = Table(
    "workflow_revisions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("workflow_id", Id, ForeignKey("workflows.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("version", Text),
    Column("document", JSON, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("created_at", Instant, nullable=False, server_default=NOW),
    UniqueConstraint("workflow_id", "number"),
    # Those that may have secret fields.
    Index(
        "workflow_revisions_secret_idx",
        "workflow_id",
        postgresql_where=text("strpos(CAST(document AS text), 'writeOnly') > 0"),
    ),
)
