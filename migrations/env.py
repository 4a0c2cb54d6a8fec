"""Alembic's entry: runs the revisions on the connection that orchestrator/store/migrate.py hands over."""

from __future__ import annotations

from alembic import context

from orchestrator.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
