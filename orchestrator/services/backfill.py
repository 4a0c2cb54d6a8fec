"""Start runs for fire times of the past: those that were missed, or all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import Row

from orchestrator.domain.calendar import Calendar
from orchestrator.errors import InvalidInput, Problem
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.firing import Firing
from orchestrator.services.schedules import one_schedule, tell
from orchestrator.store import schedule_fires

MOST = 1_000  # fire times in a range


@dataclass(frozen=True, slots=True)
class Range:
    """From `first` on, up to before `until`, or now; what a coordinator is still to decide is not of it.

    `all`: also fire times that have a run; each gets another. `at_once`: all side by side, not one after another.
    """

    first: datetime
    until: datetime | None = None
    all: bool = False
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Backfilled:
    """`fires` get a run (would get one, after a dry run); `had`: how many of the range have one and get none."""

    id: str
    fires: Sequence[datetime]
    had: int
    dry_run: bool
    paused: bool


def backfill(
    engine: Engine,
    which: str,
    wanted: Range,
    *,
    dry_run: bool = False,
    app: str | None = None,
    reason: str | None = None,
    actor: str = "cli",
) -> Backfilled:
    """Start runs for the fire times of a range: one after another beside those of the schedule, in their order.

    They wait while the schedule is paused, unless they start `at_once`. Raises `InvalidInput` for a range of more than
    1,000 fire times, and as `one_schedule` does.
    """
    with engine.db.transaction() as conn:
        row = one_schedule(conn, which, app)
        firing = Firing(engine, conn, row)
        found = _fires(firing.calendar, wanted, _decided_until(row))
        known = schedule_fires.known_fires(conn, row.id, found[0], found[-1]) if found else {}
        chosen = [fire for fire in found if wanted.all or not known.get(fire, (0, False))[1]]
        if not dry_run and chosen:
            for fire in chosen:
                again = known[fire][0] + 1 if fire in known else 0
                schedule_fires.add_fire(conn, row.id, fire, "backfill", again)
                if wanted.at_once:
                    firing.begin(fire, again)
            firing.note_ended()
            firing.begin_waiting()
            told = {"first": chosen[0].isoformat(), "last": chosen[-1].isoformat(), "count": len(chosen)}
            tell(conn, actor, "backfill_schedule", row, reason, all=wanted.all, at_once=wanted.at_once, **told)
    dispatch(engine, firing.follow())
    return Backfilled(str(row.id), chosen, len(found) - len(chosen), dry_run, firing.paused)


def _decided_until(row: Row[Any]) -> datetime:
    """Before this no fire time is still to be decided; that of a paused schedule is not."""
    now: datetime = row.now + timedelta(microseconds=1)
    return now if row.due_at is None else min(now, row.next_fire_at)


def _fires(calendar: Calendar, wanted: Range, end: datetime) -> list[datetime]:
    until = end if wanted.until is None else min(wanted.until, end)
    found = list(islice(calendar.between(wanted.first, until), MOST + 1))
    if len(found) > MOST:
        hint = f"the first {MOST:,} are before {found[-1].isoformat()}"
        raise InvalidInput([Problem("until", f"there are more than {MOST:,} fire times", hint)], "a range too long")
    return found
