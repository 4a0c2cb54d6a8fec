"""The broker becomes a replica of one that is not there, as in a failover, and is made the primary again."""

from __future__ import annotations

from contextlib import suppress

import redis

from tests.chaos.world import World


def demote_broker(world: World) -> None:
    with suppress(redis.RedisError), world.broker() as client:
        client.replicaof("127.0.0.1", 1)
        world.last(1, 3)
    world.mend_broker(lambda client: client.execute_command("REPLICAOF", "NO", "ONE"))
