"""The broker takes connections and does not answer."""

from __future__ import annotations

import os
import signal

from tests.chaos.world import World


def freeze_broker(world: World) -> None:
    pid = world.servers.pids["valkey"]
    os.kill(pid, signal.SIGSTOP)
    world.last(1, 3)
    os.kill(pid, signal.SIGCONT)
