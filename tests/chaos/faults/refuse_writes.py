"""The blob store's disk takes nothing any more, or is gone."""

from __future__ import annotations

from tests.chaos.world import World


def refuse_writes(world: World) -> None:
    world.refuse(world.random.choice(["writes", "all"]))
    world.last(2, 5)
    world.refuse("")
