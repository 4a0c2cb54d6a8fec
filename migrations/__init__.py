"""Alembic revisions. `orchestrator db upgrade` runs them; see orchestrator/store/migrate.py."""
