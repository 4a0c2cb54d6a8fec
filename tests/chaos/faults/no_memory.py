"""A worker that may use little memory."""

from __future__ import annotations

from tests.chaos.world import World

_BYTES = 700 << 20  # of address space: enough to start, and for no function that needs much


def no_memory(world: World) -> None:
    world.frail.append(world.add_worker(CHAOS_MEMORY=str(_BYTES)))
    while len(world.workers) > 2:
        old = world.workers[0]
        old.popen.terminate()
        world.forget(old)
