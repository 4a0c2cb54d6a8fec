"""How long a process holds on to what it did while a server is away."""

from __future__ import annotations

import time
from collections.abc import Iterator

PATIENCE_SECONDS = 300.0  # with an outage, in which nobody else could do better


def tries(seconds: float) -> Iterator[bool]:
    """Waits ever longer between tries; True for the last, when `seconds` are over."""
    ends = time.monotonic() + seconds
    wait = 0.05
    while (left := ends - time.monotonic()) > 0:
        yield False
        time.sleep(min(wait, left))
        wait = min(wait * 2, 1.0)
    yield True
