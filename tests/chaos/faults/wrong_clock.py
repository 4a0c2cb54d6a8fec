"""A worker whose clock is five minutes ahead or behind."""

from __future__ import annotations

from tests.chaos.world import World


def wrong_clock(world: World) -> None:
    world.add_worker(CHAOS_CLOCK=world.random.choice(["300", "-300"]))
    while len(world.workers) > 2:
        old = world.workers[0]
        old.popen.terminate()
        world.forget(old)
