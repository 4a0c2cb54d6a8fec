"""Postgres is restarted in good order ("fast"): sessions are cut off, what was written is kept."""

from __future__ import annotations

import signal

from tests.chaos.world import World


def restart_postgres(world: World) -> None:
    world.stop_server("postgres", signal.SIGINT)
    world.last(0, 1)
    world.start_server("postgres")
