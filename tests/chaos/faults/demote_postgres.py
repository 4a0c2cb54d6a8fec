"""Postgres lets nobody write, as a primary that has become a standby."""

from __future__ import annotations

from tests.chaos.faults.cut_connections import cut_connections
from tests.chaos.world import World


def demote_postgres(world: World) -> None:
    world.insist("ALTER DATABASE orchestrator SET default_transaction_read_only = on")
    cut_connections(world)
    world.last(1, 3)
    world.insist("ALTER DATABASE orchestrator RESET default_transaction_read_only")
    cut_connections(world)
