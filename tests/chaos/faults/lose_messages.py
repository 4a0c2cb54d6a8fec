"""Three messages in ten never arrive."""

from __future__ import annotations

from tests.chaos.weather import Weather
from tests.chaos.world import World


def lose_messages(world: World) -> None:
    world.blow(Weather(drop=0.3))
    world.last(1, 3)
    world.calm()
