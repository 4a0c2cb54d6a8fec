"""What must not have grown: keys of the broker, connections to Postgres, memory of processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import psutil

from tests.chaos.world import World
from tests.support import wait_for

# Bindings of queues, and what a worker has fetched and not acknowledged.
_KEYS = ("_kombu.binding", "unacked")
_GROWTH = 60 << 20


class Flat:
    """Looks once when all is quiet, and again at the end."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._memory = _memory(world)

    def faults(self) -> Iterator[str]:
        # The last late messages have still to be delivered, and taken; and who was told to end, to end.
        for look in (self._left, self._connections):
            if stays := _in_the_end(look):
                yield f"there stay {stays}"
        for pid, size in _memory(self.world).items():
            if size > self._memory.get(pid, size) + _GROWTH:
                yield f"process {pid} has grown from {self._memory[pid] >> 20} to {size >> 20} MiB"

    def _left(self) -> dict[str, int]:
        """What is in the broker besides a few messages, with how much of it; nothing if that is all."""
        with self.world.whole_broker() as client:
            kinds = {key.decode(): client.type(key) for key in client.keys("*")}
            kinds = {key: kind for key, kind in kinds.items() if not key.startswith(_KEYS) and kind != b"none"}
            waiting = {key: client.llen(key) for key, kind in kinds.items() if kind == b"list"}
        others = dict.fromkeys(kinds.keys() - waiting.keys(), 1)
        return others | waiting if others or sum(waiting.values()) > 20 else {}

    def _connections(self) -> dict[str, int]:
        """Those of whom there are too many. One that calls and one in a transaction for each thread that asks: a pool
        process and its parent have two of them, a beat one; the web process and we have a few."""
        most = {
            "orchestrator-worker": len(self.world.workers) * 3 * 4,
            "orchestrator-beat": len(self.world.beats) * 2,
        }
        found = self.world.rows(
            "SELECT application_name AS name, count(*) AS n FROM pg_stat_activity WHERE datname = current_database()"
            " GROUP BY 1"
        )
        return {row.name: row.n for row in found if row.n > most.get(row.name, 15)}


def _in_the_end(look: Callable[[], dict[str, int]]) -> dict[str, int]:
    """What is still there after half a minute."""
    try:
        wait_for(lambda: not look(), 30)
    except AssertionError:
        return look()
    return {}


def _memory(world: World) -> dict[int, int]:
    """Bytes by process."""
    found: dict[int, int] = {}
    for process in world.living():
        with suppress(psutil.Error):
            found[process.pid] = process.memory_info().rss
    return found
