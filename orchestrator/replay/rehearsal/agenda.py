"""Time that is not waited for: what is due happens at once, in its order, and the clock goes there."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count

Act = Callable[[], None]


class Agenda:
    """What is to happen when. `now` is in seconds since 1970."""

    def __init__(self, at: datetime) -> None:
        self.now = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        self._due: list[tuple[float, int, Act]] = []
        self._number = count()

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)

    def later(self, seconds: float, act: Act) -> None:
        """Do it after so many seconds."""
        heapq.heappush(self._due, (self.now + max(seconds, 0.0), next(self._number), act))

    def go_on(self) -> bool:
        """Do what is due next; False when nothing is."""
        if not self._due:
            return False
        self.now, _, act = heapq.heappop(self._due)
        act()
        return True

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Time that passes in the block passes for it alone: others go on meanwhile."""
        began = self.now
        try:
            yield
        finally:
            self.now = began
