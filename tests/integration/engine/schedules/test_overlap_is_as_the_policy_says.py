"""What happens at a fire time while a run of the schedule is open."""

from __future__ import annotations

from tests.scheduling import scheduled


def test_skip_starts_none_and_notes_it_as_one_line() -> None:
    with scheduled(overlap="skip") as it:
        for _ in range(4):
            it.wait(60)
        assert it.statuses() == ["running"]
        assert it.fires() == [("1:00", "started", 1), ("2:00", "passed", "overlap")]
        assert it.view()["counts"] == {"started": 1, "skipped": 3, "missed": 0, "failed": 0}
        it.work()
        it.wait(60)
        assert it.statuses() == ["running", "succeeded"]
        it.wait(60)
        lines = it.fires()[1:]
        assert lines == [("2:00", "passed", "overlap"), ("5:00", "started", 1), ("6:00", "passed", "overlap")]


def test_queue_starts_them_one_after_another() -> None:
    with scheduled(overlap="queue") as it:
        for _ in range(3):
            it.wait(60)
        assert it.statuses() == ["running"]
        assert it.view()["waiting"] == 2
        for ended in (1, 2, 3):
            it.work()
            assert it.statuses().count("succeeded") == ended
        assert [status for _, status, _ in it.fires()] == ["succeeded"] * 3
        times = [run["schedule"]["fire_at"][11:16] for run in it.runs()]
        assert times == ["08:03", "08:02", "08:01"]


def test_cancel_running_starts_the_latest_once_the_others_are_canceled() -> None:
    with scheduled(overlap="cancel_running") as it:
        it.wait(60)
        it.wait(60)
        assert it.statuses() == ["running", "canceled"], "nothing of it ran yet, so it ended at once"
        assert [status for _, status, _ in it.fires()] == ["canceled", "started"]


def test_cancel_running_waits_for_what_still_runs() -> None:
    with scheduled(overlap="cancel_running") as it:
        it.wait(60)
        claimed = it.claim()
        it.wait(60)
        assert it.statuses() == ["canceling"]
        it.wait(60)
        assert it.fires() == [("1:00", "started", 1), ("2:00", "dropped", 1), ("3:00", "waiting", 1)]
        it.finish(claimed)
        assert it.statuses() == ["running", "canceled"]
        assert it.view()["counts"] == {"started": 2, "skipped": 1, "missed": 0, "failed": 0}


def test_allow_starts_them_side_by_side() -> None:
    with scheduled(overlap="allow") as it:
        for _ in range(3):
            it.wait(60)
        assert it.statuses() == ["running"] * 3


def test_a_run_that_was_removed_is_open_no_more() -> None:
    with scheduled(overlap="skip") as it:
        it.wait(60)
        it.box.connection.exec_driver_sql("DELETE FROM workflow_runs")
        it.wait(60)
        assert [status for _, status, _ in it.fires()] == ["canceled", "started"]
