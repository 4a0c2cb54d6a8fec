"""Backfills: which fire times get a run, in which order, and what is only said."""

from __future__ import annotations

from datetime import timedelta

import pytest

from orchestrator.errors import InvalidInput
from orchestrator.services.backfill import Range, backfill
from orchestrator.services.schedules import pause_schedule, resume_schedule
from tests.hands import audited
from tests.scheduling import START, Scheduled, scheduled


def minutes(it: Scheduled, first: int, until: int, **more: bool) -> Range:
    return Range(START + timedelta(minutes=first), START + timedelta(minutes=until), **more)


def outage(it: Scheduled) -> None:
    """Runs at 1 and 2 minutes, nobody there up to 7, but for the last 10 seconds."""
    for _ in range(2):
        it.wait(60)
        it.work()
    it.wait(305)
    it.work()


def test_only_what_was_missed_is_made_up_for_one_after_another() -> None:
    with scheduled(catchup_seconds=10) as it:
        outage(it)
        assert it.fires()[2:] == [("3:00", "passed", "missed"), ("7:00", "succeeded", 1)]
        said = backfill(it.engine, "s", minutes(it, 1, 10), dry_run=True)
        assert ([fire.minute for fire in said.fires], said.had) == ([3, 4, 5, 6], 3)
        assert len(it.runs()) == 3, "it was only said"
        backfill(it.engine, "s", minutes(it, 1, 10), actor="ann", reason="outage")
        assert it.statuses().count("running") == 1
        it.wait(55)
        assert it.statuses().count("running") == 2, "the schedule itself goes on beside it"
        for _ in range(4):
            it.work()
        fired = [run["schedule"]["fire_at"][11:16] for run in it.runs()[::-1]]
        assert fired == ["08:01", "08:02", "08:07", "08:03", "08:08", "08:04", "08:05", "08:06"]
        assert set(it.statuses()) == {"succeeded"}
        view = it.view()
        assert (view["last_fire_at"][11:16], view["last_run"]["status"]) == ("08:08", "succeeded"), "not a backfill's"
        assert audited(it.box.connection, "backfill_schedule") == [("ann", "s", "outage")]
        assert backfill(it.engine, "s", minutes(it, 1, 8)).fires == [], "nothing is missed any more"


def test_all_gives_what_had_a_run_another_one() -> None:
    with scheduled() as it:
        outage(it)
        before = len(it.runs())
        backfill(it.engine, "s", minutes(it, 1, 3, all=True, at_once=True))
        assert len(it.runs()) == before + 2
        assert it.statuses().count("running") == 2
        again = [line for line in it.fires() if line[0] in ("1:00", "2:00")]
        assert [status for _, status, _ in again] == ["succeeded", "started"] * 2
        backfill(it.engine, "s", minutes(it, 1, 2, all=True, at_once=True))
        assert len([line for line in it.fires() if line[0] == "1:00"]) == 3


def test_fire_times_that_were_passed_over_can_be_backfilled() -> None:
    with scheduled(overlap="skip") as it:
        for _ in range(3):
            it.wait(60)
        assert [fire.minute for fire in backfill(it.engine, "s", minutes(it, 1, 9), dry_run=True).fires] == [2, 3]


def test_while_the_schedule_is_paused_a_backfill_waits_unless_it_starts_at_once() -> None:
    with scheduled() as it:
        pause_schedule(it.engine, "s", actor="ann")
        it.wait(180)
        assert backfill(it.engine, "s", minutes(it, 1, 2)).paused
        assert it.runs() == []
        backfill(it.engine, "s", minutes(it, 2, 3, at_once=True))
        assert len(it.runs()) == 1
        resume_schedule(it.engine, "s", actor="ann")
        it.work()
        it.work()
        assert it.statuses() == ["succeeded"] * 2


def test_a_backfill_of_times_that_are_still_due_leaves_one_run_for_each() -> None:
    """The range reaches up to now, before the coordinator has seen what is due."""
    with scheduled(overlap="allow") as it:
        it.wait(180, ticks=0)
        backfill(it.engine, "s", minutes(it, 1, 9, at_once=True))
        it.wait(0)
        assert len(it.runs()) == 3


def test_a_range_is_bounded() -> None:
    with scheduled(interval_seconds=1) as it:
        it.wait(3600)
        with pytest.raises(InvalidInput, match="more than 1,000 fire times.*08:16:40"):
            backfill(it.engine, "s", minutes(it, 0, 60))
        assert len(backfill(it.engine, "s", minutes(it, 50, 90), dry_run=True).fires) == 601, "nothing after now"
