"""The parent process of a worker alone is killed; what it started must end by itself."""

from __future__ import annotations

import os
import signal

from tests.chaos.world import World


def kill_parent(world: World) -> None:
    worker = world.random.choice(world.workers)
    os.kill(worker.pid, signal.SIGKILL)
    worker.popen.wait()
    world.forget(worker)
    world.replenish()
