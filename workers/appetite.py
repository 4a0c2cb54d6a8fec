"""What a hand goes on with (executor.py): how many attempts at once, and when it asks its queue for more."""

from __future__ import annotations

import time

from orchestrator.store.batch import Take
from orchestrator.store.transition import Lease
from workers.durations import Durations

# A hand that has something to do asks its queue for more no sooner; when it found nothing the last time, later.
LOOK_SECONDS = 0.005
_SELDOM = 5  # times as long
# Short steps that keep coming, and that nothing follows, are settled no sooner after that.
REST_SECONDS = 0.010
# It takes so many times as many of its queue as it has settled at once so far: it grows by and by, so that of a short
# queue others get their share.
_GROWTH = 3


class Appetite:
    """That of one hand, which serves one queue."""

    def __init__(self, durations: Durations, lease: Lease, queue: str) -> None:
        self._durations, self._lease, self._queue = durations, lease, queue
        self._function = ""  # the one called last
        self._most = 1  # settled at once
        self._looked_at = 0.0
        self._found = False  # it got others than what it had made ready

    def called(self, function: str) -> None:
        """Go by this function from here on."""
        self._function = function

    def settled(self, count: int, take: Take | None, *, found: bool) -> None:
        """So many were; `found`: the queue had others than what that made ready."""
        self._most = max(self._most, count)
        if found:
            self._looked_at = time.monotonic()
        if found or (take is not None and take.look):
            self._found = found

    def wanted(self, held: int) -> Take | None:
        """What to take besides the `held` attempts that are still to be performed."""
        anything = held == 0
        room, functions = self._durations.peers(self._function)
        room -= held
        if room < 1 or not (anything or functions):
            return None
        more = self._most * _GROWTH
        return Take(self._lease, self._queue, room, functions, anything, more, look=self._looks())

    def _looks(self) -> bool:
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS * (1 if self._found else _SELDOM):
            return False
        self._looked_at = now
        return True

    def rest(self) -> float:
        """Seconds until it asks again, for short steps that keep coming; else 0."""
        if not self._found or not self._durations.peers(self._function)[1]:
            return 0.0
        return max(0.0, self._looked_at + REST_SECONDS - time.monotonic())
