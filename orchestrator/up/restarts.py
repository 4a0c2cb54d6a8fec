"""When to start again what has died: soon at first, then less and less often."""

from __future__ import annotations

import time
from collections.abc import Callable

_FIRST_SECONDS = 1.0
_LONGEST_SECONDS = 30.0
_STEADY_SECONDS = 30.0


class Restarts:
    """The restarts of one process."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failures = 0
        self._started = now()
        self._due: float | None = None

    def died(self) -> float | None:
        """Note the death; the seconds to wait, told once for each death."""
        if self._due is not None:
            return None
        steady = self._now() - self._started >= _STEADY_SECONDS
        self._failures = 1 if steady else self._failures + 1
        delay = min(_FIRST_SECONDS * 2.0 ** (self._failures - 1), _LONGEST_SECONDS)
        self._due = self._now() + delay
        return delay

    def due(self) -> bool:
        """Whether it is time to start it again."""
        return self._due is not None and self._now() >= self._due

    def started(self) -> None:
        """Note that it was started."""
        self._started, self._due = self._now(), None
