"""The parent process of a worker is killed as its pool begins: what it has forked must end by itself."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from tests.chaos.world import World

_SECONDS = 30.0


def kill_starting(world: World) -> None:
    starting = world.add_worker()
    children = Path(f"/proc/{starting.pid}/task/{starting.pid}/children")
    ends = time.monotonic() + _SECONDS
    with suppress(OSError):  # it has ended by itself, as when its broker is away
        while not children.read_text() and time.monotonic() < ends:
            continue  # a child has milliseconds until it is told of its parent's death
        os.kill(starting.pid, signal.SIGKILL)
    starting.popen.wait()
    world.forget(starting)
