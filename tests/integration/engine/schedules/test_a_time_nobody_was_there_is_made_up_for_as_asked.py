"""After two weeks without a coordinator, and at the jumps of clocks."""

from __future__ import annotations

import pytest

from tests.scheduling import scheduled

TWO_WEEKS = 14 * 86_400
MISSED = TWO_WEEKS // 5 - 6  # of 241,920 fire times, all but those in the window of 30 seconds


@pytest.mark.parametrize(
    ("overlap", "runs", "waiting", "skipped"),
    [("skip", 1, 0, 6), ("queue", 1, 6, 0), ("cancel_running", 1, 0, 6), ("allow", 7, 0, 0)],
)
def test_two_weeks_late_a_schedule_of_five_seconds_does_only_what_its_policy_says(
    overlap: str, runs: int, waiting: int, skipped: int
) -> None:
    with scheduled(interval_seconds=5, catchup_seconds=30, overlap=overlap) as it:
        it.wait(TWO_WEEKS)
        assert it.statuses() == ["running"] * runs
        view = it.view()
        assert view["waiting"] == waiting
        assert view["counts"] == {"started": runs, "skipped": skipped, "missed": MISSED - 1, "failed": 0}
        assert it.count("schedule_fires") + it.count("schedule_gaps") <= 8, "no row for each that was missed"
        assert view["late"] is False
        it.wait(5)
        assert len(it.runs()) == (2 if overlap == "cancel_running" else runs + (overlap == "allow"))


def test_a_window_of_two_weeks_is_made_up_for_in_portions() -> None:
    with scheduled(interval_seconds=3600, catchup_seconds=TWO_WEEKS + 60, overlap="allow") as it:
        it.wait(TWO_WEEKS)
        assert len(it.runs()) == 100
        it.wait(0, ticks=3)
        assert len(it.runs()) == 336
        assert it.view()["counts"]["missed"] == 0


def test_a_few_seconds_late_is_not_missed_whatever_the_window() -> None:
    with scheduled(catchup_seconds=0) as it:
        it.wait(69)
        assert it.statuses() == ["running"]


def test_a_clock_that_is_put_on_skips_no_run() -> None:
    with scheduled(interval_seconds=None, cron="30 1 * * *", timezone="Europe/London", catchup_seconds=86_400) as it:
        for _ in range(28):
            it.wait(86_400)
            it.work()
        times = [run["schedule"]["fire_at"][5:16] for run in it.runs()[:4]]
        assert times == ["03-30T00:30", "03-29T01:00", "03-28T01:30", "03-27T01:30"]


def test_jitter_delays_the_start_and_not_the_fire_time() -> None:
    with scheduled(interval_seconds=3600, jitter_seconds=1800) as it:
        due = it.view()["due_at"]
        assert "2026-03-02T09:00:00" < due < "2026-03-02T09:30:00"
        it.wait(3600)
        assert it.runs() == []
        it.wait(1800)
        assert [run["schedule"]["fire_at"][11:16] for run in it.runs()] == ["09:00"]
