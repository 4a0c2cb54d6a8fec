"""A worker is stopped by force, in whatever order its processes get to know."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress

from tests.chaos.world import World


def quit_worker(world: World) -> None:
    old = world.random.choice(world.workers)
    world.forget(old)
    old.popen.send_signal(signal.SIGQUIT)
    with suppress(subprocess.TimeoutExpired):
        old.popen.wait(3)
    world.replenish()
