"""Two more beats, which leave again in good order."""

from __future__ import annotations

from tests.chaos.world import World


def more_beats(world: World) -> None:
    more = [world.add_beat() for _ in range(2)]
    world.last(2, 4)
    for beat in more:
        beat.popen.terminate()
        world.forget(beat)
