"""Somebody cancels whatever statements run, again and again."""

from __future__ import annotations

import time
from contextlib import suppress

import psycopg2

from tests.chaos.world import World

_CANCEL = (
    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
)


def cancel_statements(world: World) -> None:
    ends = time.monotonic() + world.random.uniform(0.5, 1.5) * world.pace
    while time.monotonic() < ends:
        with suppress(psycopg2.OperationalError):  # another fault beside this one
            world.statement(_CANCEL)
