"""A rolling deploy: a new worker beside the old ones, which are asked to end one after the other."""

from __future__ import annotations

import subprocess
from contextlib import suppress

from tests.chaos.world import World


def deploy(world: World) -> None:
    old = world.random.choice(world.workers)
    world.add_worker()
    world.forget(old)
    old.popen.terminate()
    with suppress(subprocess.TimeoutExpired):
        old.popen.wait(3)
