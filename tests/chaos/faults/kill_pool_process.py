"""A process of a worker's pool is killed, as by the kernel for want of memory."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import psutil

from tests.chaos.world import World


def kill_pool_process(world: World) -> None:
    worker = world.random.choice(world.workers)
    with suppress(psutil.NoSuchProcess, ProcessLookupError, IndexError):
        os.kill(world.random.choice(worker.children()), signal.SIGKILL)
