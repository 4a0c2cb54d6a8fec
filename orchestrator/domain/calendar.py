"""When a schedule fires: by a cron expression or an interval, with its jitter."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Protocol

from orchestrator.domain.cron import Cron

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_LONGEST_LOOK = timedelta(days=366 * 50)


class Rule(Protocol):
    """When something is to happen, again and again."""

    def next_after(self, after: datetime) -> datetime | None:
        """The first moment after `after`; None when there is none."""


@dataclass(frozen=True, slots=True)
class Every:
    """Each `seconds`, counted from 1970 in UTC, so that it does not depend on when the schedule was made."""

    seconds: int

    def next_after(self, after: datetime) -> datetime | None:
        step = timedelta(seconds=self.seconds)
        try:
            return EPOCH + ((after - EPOCH) // step + 1) * step
        except OverflowError:
            return None

    def count(self, first: datetime, end: datetime) -> int:
        """How many there are from `first`, which is one, up to before `end`."""
        return max(0, -((first - end) // timedelta(seconds=self.seconds)))


@dataclass(frozen=True, slots=True)
class Calendar:
    """The fire times of the schedule `key`, and when each is due: its time and a share of `jitter` seconds that only
    depends on the schedule and the time."""

    rule: Rule
    key: str
    jitter: int = 0

    @classmethod
    def of(cls, key: str, cron: str | None, interval: int | None, timezone: str, jitter: int) -> Calendar:
        """By a cron expression in a time zone, else by an interval in seconds. Raises `InvalidInput`."""
        return cls(Cron(cron, timezone) if cron is not None else Every(interval or 1), key, jitter)

    def due_at(self, fire: datetime) -> datetime:
        if not self.jitter:
            return fire
        digest = hashlib.sha256(f"{self.key} {fire.astimezone(UTC).isoformat()}".encode()).digest()
        return fire + timedelta(seconds=int.from_bytes(digest[:8], "big") / 2**64 * self.jitter)

    def next_after(self, after: datetime) -> datetime | None:
        return self.rule.next_after(after)

    def from_(self, first: datetime) -> datetime | None:
        """The first one at `first` or later."""
        return self.rule.next_after(first - timedelta(microseconds=1))

    def between(self, first: datetime, end: datetime) -> Iterator[datetime]:
        """Those from `first` on, up to before `end`."""
        fire = self.from_(first)
        while fire is not None and fire < end:
            yield fire
            fire = self.next_after(fire)

    def count(self, first: datetime, end: datetime, most: int) -> int | None:
        """How many there are from the fire time `first` up to before `end`; None when more than `most` would have to be
        gone through one by one."""
        if isinstance(self.rule, Every):
            return self.rule.count(first, end)
        found = sum(1 for _ in islice(self.between(first, end), most + 1))
        return found if found <= most else None

    def last_before(self, end: datetime) -> datetime | None:
        """The last one before `end`: looked for in stretches that grow, so that few are gone through."""
        stretch = timedelta(minutes=2)
        while stretch < _LONGEST_LOOK:
            last = None
            for last in self.between(end - stretch, end):  # noqa: B007 - the last one is what is wanted
                pass
            if last is not None:
                return last
            stretch *= 8
        return None
