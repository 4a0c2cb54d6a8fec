"""Every session of Postgres is ended, some of them in the middle of a statement."""

from __future__ import annotations

from contextlib import suppress

import psycopg2

from tests.chaos.world import World


def cut_connections(world: World) -> None:
    for _ in range(world.random.randint(1, 5)):
        with suppress(psycopg2.OperationalError):  # away itself at this moment
            world.statement(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
