"""Who may ask: tokens of programs and people."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Table, Text, UniqueConstraint, text

from orchestrator.domain.roles import Role
from orchestrator.store.tables.base import NOW, Id, Instant, metadata

_ROLES = ", ".join(f"'{role}'" for role in sorted(Role))

# `token_hash`: SHA-256 of the token. `app_id` null: of every app. A name is free again once its token is revoked.
api_tokens = Table(
    "api_tokens",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("app_id", Id, ForeignKey("apps.id")),
    Column("token_hash", Text, nullable=False),
    Column("password_hash", Text),
    Column("created_at", Instant, nullable=False, server_default=NOW),
    Column("created_by", Text, nullable=False),
    Column("expires_at", Instant),
    Column("last_used_at", Instant),
    Column("revoked_at", Instant),
    UniqueConstraint("token_hash"),
    CheckConstraint(f"role IN ({_ROLES})", name="role"),
    Index("api_tokens_name_key_idx", "name_key", unique=True, postgresql_where=text("revoked_at IS NULL")),
)
