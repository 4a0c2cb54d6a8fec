"""The histogram of runs: counted in buckets that stand still, so that what is long past is not counted at each look."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters
from orchestrator.store.reads.histogram import Bucket, count_over_time
from web.bounded import Bounded
from web.pages.run_query import RunQuery

BUCKETS = 60
HEIGHT = 64.0
_ORDER = ("succeeded", "running", "pending", "paused", "canceling", "canceled", "failed")
_MOST = 20_000
# A bucket is counted anew after a share of its age: what is old seldom changes, and then by an operator's retry.
_SHARE, _MOST_SECONDS = 0.05, 600.0


@dataclass(frozen=True, slots=True)
class _Counted:
    bucket: Bucket
    until: float


class OverTime:
    """The histograms of one database, remembered by filters and bucket."""

    def __init__(self, db: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._db, self._clock = db, clock
        self._known: Bounded[tuple[Any, ...], _Counted] = Bounded(_MOST)

    def buckets(self, filters: RunFilters, since: datetime, until: datetime, now: datetime) -> list[Bucket]:
        """About BUCKETS of them over this time; raises `NotFound` as `count_over_time` does."""
        width = (until - since) / BUCKETS
        begin = _floor(since, width)
        bounds = [begin + width * place for place in range(math.ceil((until - begin) / width))]
        key = replace(filters, created_after=None, created_before=None)
        found = [self._at_hand(key, low, width) for low in bounds]
        missing = [place for place, bucket in enumerate(found) if bucket is None]
        if missing:
            first, last = missing[0], missing[-1]
            found[first : last + 1] = self._count(key, bounds[first], last + 1 - first, width, now)
        return [bucket for bucket in found if bucket is not None]

    def _at_hand(self, key: RunFilters, low: datetime, width: timedelta) -> Bucket | None:
        known = self._known.get((key, low, width))
        return known.bucket if known is not None and self._clock() < known.until else None

    def _count(self, key: RunFilters, low: datetime, count: int, width: timedelta, now: datetime) -> list[Bucket]:
        with self._db.transaction() as conn:
            counted = count_over_time(conn, key, low, low + width * count, count)
        for place, bucket in enumerate(counted):
            kept = min((now - bucket.until).total_seconds() * _SHARE, _MOST_SECONDS)
            if kept > 0:
                self._known.put((key, low + width * place, width), _Counted(bucket, self._clock() + kept))
        return counted


def bars(query: RunQuery, buckets: list[Bucket]) -> list[dict[str, Any]]:
    """A bar for each bucket, its parts from the bottom up; none is too small to be seen."""
    most = max((sum(bucket.counts.values()) for bucket in buckets), default=0) or 1
    return [
        {
            "x": place * 10,
            "parts": list(_parts(bucket, most)),
            "url": query.with_(since=bucket.since, until=bucket.until).url(),
            "bucket": bucket,
        }
        for place, bucket in enumerate(buckets)
    ]


def _parts(bucket: Bucket, most: int) -> list[dict[str, str]]:
    parts, y = [], HEIGHT
    for status in _ORDER:
        count = bucket.counts.get(status, 0)
        if count:
            height = max(HEIGHT * count / most, 2.0)
            y -= height
            parts.append({"status": status, "y": f"{max(y, 0):.2f}", "height": f"{height:.2f}"})
    return parts


def totals(buckets: list[Bucket]) -> dict[str, int]:
    """All buckets together."""
    total: dict[str, int] = {}
    for bucket in buckets:
        for status, count in bucket.counts.items():
            total[status] = total.get(status, 0) + count
    return total


def _floor(at: datetime, width: timedelta) -> datetime:
    """The last moment up to this one that is a multiple of the width."""
    seconds = max(width.total_seconds(), 1e-3)
    return datetime.fromtimestamp(math.floor(at.timestamp() / seconds) * seconds, UTC)
