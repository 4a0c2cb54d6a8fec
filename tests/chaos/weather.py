"""What goes wrong inside the product's processes: messages that are lost, doubled and late, a wrong clock, no memory.

Installed by tests/chaos/start.py before the product is imported. `Weather` writes a small file that every process
looks at, so that the weather changes while they run.
"""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fsspec.implementations.local import LocalFileSystem
from kombu.transport.redis import Channel

LATE = "chaos.late"  # a sorted set in the broker: messages by when they are to be delivered
FILE, CLOCK, MEMORY = "CHAOS_WEATHER", "CHAOS_CLOCK", "CHAOS_MEMORY"
DISK = "CHAOS_DISK"  # a file that says what the blob store's disk refuses: `writes`, `all`, or nothing


@dataclass(frozen=True, slots=True)
class Weather:
    """Shares of the messages that are dropped, delivered twice, and late (by up to `delay` seconds)."""

    drop: float = 0.0
    double: float = 0.0
    late: float = 0.0
    delay: float = 1.0

    def write(self, path: Path) -> None:
        """From now on it is like this; a process that reads meanwhile sees the old or the new."""
        fresh = path.with_suffix(f".{threading.get_ident()}")  # faults beside each other write it too
        fresh.write_text(json.dumps(asdict(self)))
        fresh.replace(path)


def install() -> None:
    """What the environment asks for, in this process and those it forks."""
    if memory := os.environ.get(MEMORY):
        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    if clock := os.environ.get(CLOCK):
        _set_clock(float(clock))
    if os.environ.get(FILE):
        _trouble_messages(Path(os.environ[FILE]))
    if disk := os.environ.get(DISK):
        _trouble_disk(Path(disk))


def _set_clock(offset: float) -> None:
    """Python code that asks `time` is told a time that is off; durations are right."""
    right = time.time
    time.time = lambda: right() + offset


def _trouble_disk(refusing: Path) -> None:
    open_file = LocalFileSystem._open

    def troubled(self: Any, path: str, mode: str = "rb", *given: Any, **named: Any) -> Any:
        refused = refusing.read_text()
        if refused == "all":
            raise OSError(errno.EIO, "Input/output error", path)
        file = open_file(self, path, mode, *given, **named)
        if refused and "w" in mode:
            file.write = _full  # it has begun, and there is no room for what follows
        return file

    LocalFileSystem._open = troubled


def _full(content: bytes) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def _trouble_messages(path: Path) -> None:
    put, chance = Channel._put, random.Random()

    def troubled(self: Any, queue: str, message: Any, **kwargs: Any) -> Any:
        weather = Weather(**json.loads(path.read_text()))
        if "pidbox" in queue or chance.random() >= weather.drop + weather.double + weather.late:
            return put(self, queue, message, **kwargs)
        which = chance.uniform(0, weather.drop + weather.double + weather.late)
        if which < weather.drop:
            return None
        if which < weather.drop + weather.double:
            put(self, queue, message, **kwargs)
            return put(self, queue, message, **kwargs)
        with self.conn_or_acquire() as client:
            due = time.monotonic() + chance.uniform(0, weather.delay)
            return client.zadd(LATE, {json.dumps([queue, json.dumps(message)]): due})

    Channel._put = troubled
