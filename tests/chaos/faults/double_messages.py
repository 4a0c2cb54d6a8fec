"""Every message arrives twice."""

from __future__ import annotations

from tests.chaos.weather import Weather
from tests.chaos.world import World


def double_messages(world: World) -> None:
    world.blow(Weather(double=1.0))
    world.last(1, 3)
    world.calm()
