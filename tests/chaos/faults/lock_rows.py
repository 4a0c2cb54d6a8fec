"""Somebody locks the rows of all open steps and runs for a moment, as a careless person with psql does."""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from orchestrator.errors import Unreachable
from tests.chaos.world import World


def lock_rows(world: World) -> None:
    with suppress(DBAPIError, Unreachable), world.engine.db.transaction() as conn:
        conn.execute(text("SET LOCAL lock_timeout = '1s'"))
        conn.execute(
            text("SELECT FROM workflow_run_steps WHERE finished_at IS NULL ORDER BY run_id, position FOR UPDATE")
        )
        world.last(0.2, 1.5)
