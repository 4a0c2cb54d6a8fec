"""The histogram of runs: counted in buckets that stand still, so that what is long past is not counted at each look."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from flask import current_app

from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters
from orchestrator.store.reads.histogram import Bucket, count_over_time
from web.application import database
from web.bounded import Bounded
from web.pages.charts import Bar, bar
from web.pages.run_query import RunQuery

BUCKETS = 60
_PORTION, _SECONDS = 4, 0.1
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

    def buckets(
        self, filters: RunFilters, since: datetime, until: datetime, now: datetime, count: int = BUCKETS
    ) -> tuple[list[Bucket], bool]:
        """About `count` of them over this time, and whether all of these are counted.

        They are counted from the newest on, for about a tenth of a second: who asks again gets more. Raises `NotFound`
        as `count_over_time` does.
        """
        width = (until - since) / count
        begin = _floor(since, width)
        bounds = [begin + width * place for place in range(math.ceil((until - begin) / width))]
        key = replace(filters, created_after=None, created_before=None)
        found = {low: bucket for low in bounds if (bucket := self._at_hand(key, low, width)) is not None}
        missing, end, most = [low for low in bounds if low not in found], self._clock() + _SECONDS, _PORTION
        while missing and (not found or self._clock() < end):
            portion, missing, most = missing[-most:], missing[:-most], 2 * most
            found |= zip(portion, self._count(key, portion, width, now), strict=True)
        return [found.get(low) or Bucket(low, low + width, {}) for low in bounds], not missing

    def _at_hand(self, key: RunFilters, low: datetime, width: timedelta) -> Bucket | None:
        known = self._known.get((key, low, width))
        return known.bucket if known is not None and self._clock() < known.until else None

    def _count(self, key: RunFilters, lows: Sequence[datetime], width: timedelta, now: datetime) -> list[Bucket]:
        with self._db.transaction() as conn:
            counted = count_over_time(conn, key, lows, width)
        for bucket in counted:
            kept = min((now - bucket.until).total_seconds() * _SHARE, _MOST_SECONDS)
            if kept > 0:
                self._known.put((key, bucket.since, width), _Counted(bucket, self._clock() + kept))
        return counted


def over_time() -> OverTime:
    """That of the application's database."""
    made: OverTime = current_app.extensions.setdefault("orchestrator.over_time", OverTime(database()))
    return made


def bars(query: RunQuery, buckets: list[Bucket], most: int, height: float) -> list[Bar]:
    """A bar for each bucket, which leads to its runs; `most` is as high as the picture."""
    return [
        bar(place, one.since, one.until, one.counts, most, query.with_(since=one.since, until=one.until).url(), height)
        for place, one in enumerate(buckets)
    ]


def highest(buckets: list[Bucket]) -> int:
    """How many runs the fullest bucket has."""
    return max((sum(bucket.counts.values()) for bucket in buckets), default=0)


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
