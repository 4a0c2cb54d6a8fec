"""Messages are late, and overtake one another."""

from __future__ import annotations

from tests.chaos.weather import Weather
from tests.chaos.world import World


def delay_messages(world: World) -> None:
    world.blow(Weather(late=0.7, delay=3.0))
    world.last(1, 3)
    world.calm()
