"""A beat is killed; there may be another."""

from __future__ import annotations

from tests.chaos.world import World


def kill_beat(world: World) -> None:
    world.kill(world.random.choice(world.beats))
    world.replenish()
