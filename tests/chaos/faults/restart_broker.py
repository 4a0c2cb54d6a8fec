"""The broker is killed and started again, empty."""

from __future__ import annotations

import signal

from tests.chaos.world import World


def restart_broker(world: World) -> None:
    world.stop_server("valkey", signal.SIGKILL)
    world.start_server("valkey")
