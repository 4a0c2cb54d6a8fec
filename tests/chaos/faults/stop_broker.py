"""The broker is away for a while."""

from __future__ import annotations

import signal
import time

from tests.chaos.world import World


def stop_broker(world: World, seconds: float | None = None) -> None:
    world.stop_server("valkey", signal.SIGTERM)
    if seconds is None:
        world.last(1, 3)
    else:
        time.sleep(seconds)
    world.start_server("valkey")
