"""A beat stands still in the middle of whatever it does, and goes on."""

from __future__ import annotations

import signal
from contextlib import suppress

from tests.chaos.world import World


def freeze_beat(world: World) -> None:
    beat = world.random.choice(world.beats)
    with suppress(ProcessLookupError):
        beat.signal(signal.SIGSTOP)
        world.last(0.5, 2)
        beat.signal(signal.SIGCONT)
