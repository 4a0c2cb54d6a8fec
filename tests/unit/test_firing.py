"""What a schedule does when it is due, above all after nobody was there for a long time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.domain.calendar import Calendar, Every
from orchestrator.domain.cron import Cron
from orchestrator.domain.firing import MOST_AT_ONCE, MOST_WAITING, Decision, Gap, Overlap, Passed, Standing, decide

NOW = datetime(2026, 11, 30, 12, 0, 2, tzinfo=UTC)
FIVE = Calendar(Every(5), "s")
MINUTE = Calendar(Cron("* * * * *", "Europe/London"), "s")
TWO_WEEKS_AGO = NOW - timedelta(days=14, seconds=2)
PER_WEEK = 7 * 24 * 720


def decided(
    calendar: Calendar, overlap: Overlap, window: int, first: datetime = TWO_WEEKS_AGO, **more: int
) -> Decision:
    return decide(calendar, Standing(NOW, first, overlap, window, bool(more.get("open")), more.get("waiting", 0)))


def seconds(*ago: float) -> list[datetime]:
    return [NOW - timedelta(seconds=2 + one) for one in ago]


def told(gaps: object) -> list[tuple[Passed, int | None]]:
    assert isinstance(gaps, list)
    return [(g.reason, g.count) for g in gaps]


def test_after_two_weeks_only_the_window_is_made_up_for() -> None:
    allowed = decided(FIVE, Overlap.ALLOW, 30)
    assert allowed.start == seconds(25, 20, 15, 10, 5, 0)
    assert told(allowed.gaps) == [(Passed.MISSED, 2 * PER_WEEK - 5)]
    assert allowed.next == NOW + timedelta(seconds=3)
    skipped = decided(FIVE, Overlap.SKIP, 30)
    assert skipped.start == seconds(25)
    assert skipped.gaps[1] == Gap(*seconds(20, 0), 5, Passed.OVERLAP)
    queued = decided(FIVE, Overlap.QUEUE, 30)
    assert (queued.start, queued.wait) == (seconds(25), seconds(20, 15, 10, 5, 0))
    canceled = decided(FIVE, Overlap.CANCEL_RUNNING, 30)
    assert (list(canceled.start), canceled.cancel) == (seconds(0), False)
    assert canceled.gaps[1] == Gap(*seconds(25, 5), 5, Passed.SUPERSEDED)


@pytest.mark.parametrize("calendar", [FIVE, MINUTE], ids=["interval", "cron"])
def test_a_window_as_long_as_the_outage_is_gone_through_in_portions(calendar: Calendar) -> None:
    window = 15 * 24 * 3600
    first = calendar.from_(TWO_WEEKS_AGO)
    assert first is not None
    allowed = decided(calendar, Overlap.ALLOW, window, first)
    assert len(allowed.start) == MOST_AT_ONCE
    assert allowed.next == calendar.next_after(allowed.start[-1])
    skipped = decided(calendar, Overlap.SKIP, window, first)
    assert (list(skipped.start), len(skipped.gaps)) == ([first], 1)
    queued = decided(calendar, Overlap.QUEUE, window, first)
    assert len(queued.start) + len(queued.wait) == MOST_WAITING
    canceled = decided(calendar, Overlap.CANCEL_RUNNING, window, first)
    assert canceled.start == (calendar.last_before(NOW),)
    for one in (skipped, queued, canceled):
        assert one.next == calendar.next_after(NOW), "all that is due is decided at once"
    counted = 2 * PER_WEEK if calendar is FIVE else None
    assert skipped.gaps[0].count == counted, "intervals are counted by arithmetic, cron expressions up to a bound"


def test_while_a_run_is_open_each_policy_does_its_own() -> None:
    (fire,) = seconds(0)
    assert told(decided(FIVE, Overlap.SKIP, 60, fire, open=1).gaps) == [(Passed.OVERLAP, 1)]
    assert decided(FIVE, Overlap.QUEUE, 60, fire, open=1).wait == [fire]
    full = decided(FIVE, Overlap.QUEUE, 60, fire, open=1, waiting=MOST_WAITING)
    assert (full.wait, told(full.gaps)) == ([], [(Passed.QUEUE_FULL, 1)])
    canceling = decided(FIVE, Overlap.CANCEL_RUNNING, 60, fire, open=1)
    assert (list(canceling.start), list(canceling.wait), canceling.cancel) == ([], [fire], True)
    assert decided(FIVE, Overlap.ALLOW, 60, fire, open=1).start == [fire]
    assert decided(FIVE, Overlap.QUEUE, 60, fire, waiting=1).start == [], "what waits is first"


def test_jitter_only_depends_on_the_schedule_and_the_fire_time() -> None:
    one, other = Calendar(Every(60), "one", 30), Calendar(Every(60), "other", 30)
    fires = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=m) for m in range(50)]
    late = [(one.due_at(fire) - fire).total_seconds() for fire in fires]
    assert late == [(one.due_at(fire) - fire).total_seconds() for fire in fires]
    assert late != [(other.due_at(fire) - fire).total_seconds() for fire in fires]
    assert min(late) < 5
    assert 25 < max(late) < 30
    assert Calendar(Every(60), "one").due_at(fires[0]) == fires[0]
    waits = decide(one, Standing(fires[1], fires[1], Overlap.SKIP, 60, False, 0))
    assert (list(waits.start), waits.next) == ([], fires[1]), "it is not due before its jitter is over"


def test_a_window_is_not_cut_short_by_jitter() -> None:
    calendar = Calendar(Every(10), "s", 3600)
    standing = Standing(NOW, NOW - timedelta(seconds=3000), Overlap.ALLOW, 10, False, 0)
    assert decide(calendar, standing).gaps == []


def test_a_calendar_that_ends_is_over() -> None:
    never = Calendar(Cron("0 0 1 1 *", "UTC"), "s")
    assert never.next_after(datetime(9999, 6, 1, tzinfo=UTC)) is None
    assert Every(5).next_after(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)) is None


def test_the_last_one_before_a_time_is_found_however_rare() -> None:
    assert Calendar(Cron("0 0 29 2 *", "UTC"), "s").last_before(NOW) == datetime(2024, 2, 29, tzinfo=UTC)
    assert MINUTE.last_before(NOW) == datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    assert FIVE.last_before(datetime(2026, 1, 1, tzinfo=UTC)) == datetime(2025, 12, 31, 23, 59, 55, tzinfo=UTC)
