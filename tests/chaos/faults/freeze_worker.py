"""A worker stands still for longer than its lease, and goes on."""

from __future__ import annotations

import signal
import time
from contextlib import suppress

from tests.chaos.world import LEASE, World


def freeze_worker(world: World) -> None:
    worker = world.random.choice(world.workers)
    with suppress(ProcessLookupError):
        worker.signal(signal.SIGSTOP)
        time.sleep(LEASE + world.random.uniform(0.5, 1.5))
        worker.signal(signal.SIGCONT)
