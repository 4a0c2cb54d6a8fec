"""Statements are canceled after a few milliseconds: some get through, some do not."""

from __future__ import annotations

from tests.chaos.faults.cut_connections import cut_connections
from tests.chaos.world import World


def short_statements(world: World) -> None:
    world.insist(f"ALTER DATABASE orchestrator SET statement_timeout = {world.random.choice([1, 2, 5])}")
    cut_connections(world)
    world.last(1, 3)
    world.insist("ALTER DATABASE orchestrator RESET statement_timeout")
    cut_connections(world)
