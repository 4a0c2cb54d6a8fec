"""How fast the machine is just now: a rented core is now a whole one, now half of one, and nothing inside tells."""

from __future__ import annotations

import time

_SECONDS = 0.2
_AT_ONCE = 10_000


def additions_per_second() -> float:
    """How many numbers one Python process adds up in a second, one by one."""
    count, total, began = 0, 0, time.monotonic()
    while time.monotonic() < began + _SECONDS:
        for number in range(_AT_ONCE):
            total += number
        count += _AT_ONCE
    return count / (time.monotonic() - began)
