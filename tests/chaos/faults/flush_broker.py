"""The broker loses everything."""

from __future__ import annotations

from contextlib import suppress

import redis

from tests.chaos.world import World


def flush_broker(world: World) -> None:
    with suppress(redis.RedisError), world.broker() as client:
        client.flushall()
