"""A worker is killed with all its processes, as when its machine fails."""

from __future__ import annotations

from tests.chaos.world import World


def kill_worker(world: World) -> None:
    world.kill(world.random.choice(world.workers))
    world.replenish()
