"""Cron expressions of five fields in a time zone: which moments they mean, also where a clock is put on or back.

The fields are read by cronsim, over local times without a zone. What these are in UTC is decided here:

- A local time that is skipped means the first moment after the gap. With `*` hours only where the gap is not of whole
  hours: else the same minute comes within the real hour anyway.
- A local time that comes twice means its first moment; and both, where the hours begin with `*` or the minutes are `*`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from orchestrator.domain.near import near_hint
from orchestrator.errors import InvalidInput, Problem

_MOST_CHARACTERS = 255
_OF_THIS_MACHINE = frozenset({"localtime", "Factory"})  # files that lie among the zones, and are none
_HOUR = timedelta(hours=1)
_SECOND = timedelta(seconds=1)
_ZERO = timedelta(0)


@cache
def zone_names() -> frozenset[str]:
    """The names of the IANA time zones that are known here, and mean the same on every machine."""
    return frozenset(available_timezones()) - _OF_THIS_MACHINE


def zone_problems(name: str) -> Iterator[Problem]:
    """What is wrong with the name of a time zone."""
    if name not in zone_names():
        hint = near_hint(name, sorted(zone_names())) or "a name such as Europe/London"
        yield Problem("timezone", f"'{name}' is no IANA time zone", hint)


def cron_problems(expression: str) -> Iterator[Problem]:
    """What is wrong with a cron expression."""
    fields = len(expression.split())
    if len(expression) > _MOST_CHARACTERS:
        yield Problem("cron", f"may have {_MOST_CHARACTERS} characters")
    elif fields != 5:
        yield Problem("cron", f"has five fields, not {fields}", "minute hour day-of-month month day-of-week")
    else:
        try:
            next(CronSim(expression, datetime(2024, 1, 1)))
        except CronSimError as error:
            yield Problem("cron", _told(str(error)), "minute hour day-of-month month day-of-week")
        except StopIteration:
            yield Problem("cron", "never comes")


def _told(error: str) -> str:
    return error.replace("Bad ", "it has a bad ", 1)


@dataclass(frozen=True, slots=True)
class Cron:
    """A valid expression in a known zone; raises `InvalidInput`."""

    expression: str
    timezone: str

    def __post_init__(self) -> None:
        problems = [*cron_problems(self.expression), *zone_problems(self.timezone)]
        if problems:
            raise InvalidInput(problems, "the schedule is invalid")

    def next_after(self, after: datetime) -> datetime | None:
        """The first moment after `after`, in UTC; None when there is none within 50 years."""
        zone = ZoneInfo(self.timezone)
        best: datetime | None = None
        try:
            for local in CronSim(self.expression, _begin(after, zone)):
                moments = self._moments(local, zone)
                best = min((m for m in (*moments, best) if m is not None and m > after), default=None)
                if best is not None and moments and moments[0] >= best:
                    return best
        except (StopIteration, OverflowError, ValueError):  # the end of time, of the library's search or the calendar's
            return best
        return best

    def _moments(self, local: datetime, zone: ZoneInfo) -> list[datetime]:
        before, after = (_offset(local, zone, fold) for fold in (0, 1))
        if before == after:
            return [_utc(local, before)]
        if before > after:
            return [_utc(local, before), _utc(local, after)] if self._each_real_hour else [_utc(local, before)]
        if self._hours == "*" and (after - before) % _HOUR == _ZERO:
            return []
        return [_first_after_gap(_utc(local, after), _utc(local, before), zone)]

    @property
    def _hours(self) -> str:
        return self.expression.split()[1]

    @property
    def _each_real_hour(self) -> bool:
        return self._hours.startswith("*") or self.expression.split()[0] == "*"


def _begin(after: datetime, zone: ZoneInfo) -> datetime:
    """The local time to look from: earlier by what the clock is about to be put back."""
    local = after.astimezone(zone).replace(tzinfo=None, fold=0)
    put_back = _offset(local, zone, 0) - _offset(local, zone, 1)
    return local - max(put_back, _ZERO)


def _offset(local: datetime, zone: ZoneInfo, fold: int) -> timedelta:
    offset = local.replace(tzinfo=zone, fold=fold).utcoffset()
    return _ZERO if offset is None else offset


def _utc(local: datetime, offset: timedelta) -> datetime:
    return (local - offset).replace(tzinfo=UTC)


def _first_after_gap(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    """The moment between these two, the first before the gap and the second after it, at which the clock is put on."""
    before = low.astimezone(zone).utcoffset()
    while high - low > _SECOND:
        middle = (low + (high - low) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high
