"""Postgres ends at once ("immediate") and recovers: what was not flushed is gone."""

from __future__ import annotations

import signal

from tests.chaos.world import World


def crash_postgres(world: World) -> None:
    world.stop_server("postgres", signal.SIGQUIT)
    world.last(0, 0.5)
    world.start_server("postgres")
