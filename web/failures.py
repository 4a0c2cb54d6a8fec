"""How often an address has failed to say who it is. In the memory of this process, and bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from web.bounded import Bounded
from web.errors import TooManyRequests

_MOST_ADDRESSES = 10_000


@dataclass(frozen=True, slots=True)
class _Count:
    failures: int
    since: float


class Failures:
    """At most `most` failures of an address in `seconds`; then it waits until these are over."""

    def __init__(self, most: int = 10, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._counts: Bounded[str, _Count] = Bounded(_MOST_ADDRESSES)

    def check(self, address: str) -> None:
        """Raises `TooManyRequests` while the address has to wait."""
        count = self._counts.get(address)
        now = self._clock()
        if count is not None and count.failures >= self._most and now < count.since + self._seconds:
            wait = count.since + self._seconds - now
            raise TooManyRequests("too many failed attempts from this address", retry_after=wait)

    def note(self, address: str) -> None:
        """It has failed once more."""
        self._counts.update(address, self._with_one)

    def _with_one(self, count: _Count | None) -> _Count:
        now = self._clock()
        if count is None or now >= count.since + self._seconds:
            return _Count(1, now)
        return _Count(count.failures + 1, count.since)
