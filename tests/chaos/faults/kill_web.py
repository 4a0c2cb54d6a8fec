"""The web process is killed with its workers."""

from __future__ import annotations

from tests.chaos.world import World


def kill_web(world: World) -> None:
    for web in list(world.webs):
        world.kill(web)
    world.replenish()
