"""The broker has no memory left: it answers, and takes nothing."""

from __future__ import annotations

from contextlib import suppress

import redis

from tests.chaos.world import World


def fill_broker(world: World) -> None:
    with suppress(redis.RedisError), world.broker() as client:
        client.config_set("maxmemory", 1)
        world.last(1, 3)
    world.mend_broker(lambda client: client.config_set("maxmemory", 0))
