"""How many functions can run at once for a queue, as its workers have announced; remembered for a moment."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from orchestrator.store import workers
from orchestrator.store.db import Database

_FRESH_SECONDS = 5.0


@dataclass(slots=True)
class Slots:
    """A cache; what it says may be a few seconds old."""

    _known: dict[str, tuple[float, int]] = field(default_factory=dict)

    def of(self, db: Database, queue: str) -> int:
        """The slots of living workers that serve the queue; 0 when none is known."""
        at, slots = self._known.get(queue, (0.0, 0))
        now = time.monotonic()
        if now - at > _FRESH_SECONDS or not at:
            slots = workers.count_slots(db, queue)
            self._known[queue] = (now, slots)
        return slots
