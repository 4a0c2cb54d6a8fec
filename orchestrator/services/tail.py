"""Follow the log of a run without missing a line."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from orchestrator.store.reads.page import Page

# Line ids are given when a line is written and seen when its transaction commits: a line may show up after one
# with a higher id. Those of the last few seconds are read again.
_SETTLED_SECONDS = 5.0
_MOST_SEEN = 10_000
Fetch = Callable[[int], Page]


class Tail:
    """Reads a growing log. `fetch(after_id)` gives a page of lines with higher ids, each with its `id`.

    Lines up to `floor` are known.
    """

    def __init__(self, fetch: Fetch, clock: Callable[[], float], floor: int = 0) -> None:
        self._fetch, self._clock = fetch, clock
        self._recent: deque[tuple[float, int]] = deque()
        self._seen: set[int] = set()
        self._floor = floor

    def read(self) -> Iterator[dict[str, Any]]:
        """The lines that are new since the last read."""
        began = self._clock()
        after: int | None = self._floor
        while after is not None:
            page = self._fetch(after)
            for line in page.items:
                if line["id"] not in self._seen:
                    self._seen.add(line["id"])
                    self._recent.append((began, line["id"]))
                    yield line
            after = int(page.next) if page.next else None
            if len(self._recent) > _MOST_SEEN:
                self._settle(began)
        self._settle(began - _SETTLED_SECONDS)

    @property
    def floor(self) -> int:
        """Up to this id every line was read, whenever it is committed."""
        return self._floor

    def _settle(self, until: float) -> None:
        """Move the floor up to lines first seen by `until`: what could still come before them was read since."""
        settled = []
        while self._recent and (self._recent[0][0] <= until):
            settled.append(self._recent.popleft()[1])
        if settled:
            self._floor = max(self._floor, *settled)
            self._seen = {id for id in self._seen if id > self._floor}
