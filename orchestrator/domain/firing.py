"""What a schedule does when it is due: which of its fire times start runs, wait, or are passed over. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from orchestrator.domain.calendar import Calendar

MOST_AT_ONCE = 100  # runs that one decision starts; the next tick goes on
MOST_WAITING = 100  # fire times that wait for their turn (`queue`)
MOST_COUNTED = 1_000  # fire times of a cron expression that are counted one by one
_INSTANT = timedelta(microseconds=1)


class Overlap(StrEnum):
    """What happens at a fire time while a run of the schedule is still open."""

    SKIP = "skip"  # no run is started
    QUEUE = "queue"  # the run starts when that one has ended, in the order of the fire times
    CANCEL_RUNNING = "cancel_running"  # that one is canceled; the run starts when it has ended
    ALLOW = "allow"  # they run side by side


class Passed(StrEnum):
    """Why no run was started for a fire time."""

    MISSED = "missed"  # nobody was there to start it until it was older than the catch-up window
    OVERLAP = "overlap"  # a run was open
    QUEUE_FULL = "queue_full"  # too many waited already
    SUPERSEDED = "superseded"  # a later fire time took its place (`cancel_running`)
    PAUSED = "paused"  # the schedule was paused


@dataclass(frozen=True, slots=True)
class Gap:
    """Fire times in a row for which no run is started; `count` None: more than are counted."""

    first: datetime
    last: datetime
    count: int | None
    reason: Passed


@dataclass(frozen=True, slots=True)
class Standing:
    """How the schedule stands at `now`; `window` in seconds, `open`: whether a run of it is."""

    now: datetime
    next_fire: datetime
    overlap: Overlap
    window: int
    open: bool
    waiting: int


@dataclass(frozen=True, slots=True)
class Decision:
    """`start` and `wait` in order; `cancel`: open runs are to be canceled, and what waits gives way; `next`: the first
    fire time not decided, None when there is none."""

    start: Sequence[datetime]
    wait: Sequence[datetime]
    gaps: Sequence[Gap]
    next: datetime | None
    cancel: bool = False


def gap(calendar: Calendar, first: datetime, last: datetime, reason: Passed) -> Gap:
    """The fire times from `first` to `last`, both included."""
    return Gap(first, last, calendar.count(first, last + _INSTANT, MOST_COUNTED), reason)


def decide(calendar: Calendar, standing: Standing) -> Decision:
    """What is to be done now. Goes through `MOST_AT_ONCE` fire times at the most, however many are due."""
    missed, first = _missed(calendar, standing)
    due, following = _due(calendar, first, standing.now)
    if not due:
        return Decision((), (), missed, following)
    if standing.overlap is Overlap.ALLOW:
        return Decision(due, (), missed, following)
    last, following = _all_due(calendar, standing.now, due[-1], following)
    if standing.overlap is Overlap.CANCEL_RUNNING:
        return _latest(calendar, standing, missed, due[0], last, following)
    start, wait, rest = _in_turn(standing, due)
    reason = Passed.OVERLAP if standing.overlap is Overlap.SKIP else Passed.QUEUE_FULL
    first_passed = rest[0] if rest else calendar.next_after([*start, *wait][-1])
    if first_passed is not None and first_passed <= last:
        missed = [*missed, gap(calendar, first_passed, last, reason)]
    return Decision(start, wait, missed, following)


def _missed(calendar: Calendar, standing: Standing) -> tuple[list[Gap], datetime | None]:
    """What is older than the window, and the first fire time that is not."""
    cutoff = standing.now - timedelta(seconds=standing.window + calendar.jitter)
    if standing.next_fire >= cutoff:
        return [], standing.next_fire
    last = calendar.last_before(cutoff) or standing.next_fire
    return [gap(calendar, standing.next_fire, last, Passed.MISSED)], calendar.from_(cutoff)


def _due(calendar: Calendar, first: datetime | None, now: datetime) -> tuple[list[datetime], datetime | None]:
    """Fire times that are due, as many as are decided at once, and the one that follows."""
    due: list[datetime] = []
    while first is not None and calendar.due_at(first) <= now and len(due) < MOST_AT_ONCE:
        due.append(first)
        first = calendar.next_after(first)
    return due, first


def _all_due(
    calendar: Calendar, now: datetime, last: datetime, following: datetime | None
) -> tuple[datetime, datetime | None]:
    """The last fire time that is due, if there are more than `_due` goes through, and what follows."""
    if following is None or calendar.due_at(following) > now:
        return last, following
    surely = calendar.last_before(now - timedelta(seconds=calendar.jitter) + _INSTANT)
    last = last if surely is None else max(last, surely)
    return last, calendar.next_after(last)


def _latest(
    calendar: Calendar,
    standing: Standing,
    missed: list[Gap],
    first: datetime,
    last: datetime,
    following: datetime | None,
) -> Decision:
    if first < last:
        before = calendar.last_before(last) or first
        missed = [*missed, gap(calendar, first, before, Passed.SUPERSEDED)]
    if standing.open or standing.waiting:
        return Decision((), (last,), missed, following, cancel=True)
    return Decision((last,), (), missed, following)


def _in_turn(standing: Standing, due: list[datetime]) -> tuple[list[datetime], list[datetime], list[datetime]]:
    """What starts, what waits, and the rest."""
    start = [] if standing.open or standing.waiting else due[:1]
    rest = due[len(start) :]
    room = MOST_WAITING - standing.waiting if standing.overlap is Overlap.QUEUE else 0
    return start, rest[:room], rest[room:]
