"""The worker of plain Celery tasks is killed with all its processes, and with the messages it has taken."""

from __future__ import annotations

from tests.chaos.world import World


def kill_plain(world: World) -> None:
    for plain in list(world.plains):
        world.kill(plain)
    world.last(0, 2)
    world.replenish()
