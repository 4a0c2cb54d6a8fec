"""Late runs, stuck queues and schedules in trouble: told while they are so, and that they are so no more."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.alerts import lines_of, title_of
from orchestrator.services.apps import set_app
from orchestrator.services.cancel import cancel
from orchestrator.services.pause import pause
from orchestrator.services.register import register
from orchestrator.services.schedules import create_schedule, resume_schedule
from orchestrator.services.start import start
from orchestrator.store.db import Database
from orchestrator.store.workers import WorkerInfo, announce
from tests.alerting import Alarms, said
from tests.documents import document, step
from tests.hands import Hands


@pytest.fixture
def hands(db: Database) -> Hands:
    hands = Hands(db)
    register(hands.engine, document(step("a"), name="order"))
    return hands


@pytest.fixture
def alarms(hands: Hands) -> Alarms:
    return Alarms(hands)


def _worker(hands: Hands, *queues: str) -> None:
    with hands.db.transaction() as conn:
        announce(conn, WorkerInfo("w", "worker", "here", 7, queues, 4, "prefork", "1"))


def _change(hands: Hands, statement: str, **values: Any) -> None:
    with hands.db.transaction() as conn:
        conn.execute(text(statement), values)


def test_runs_that_are_open_too_long_are_told_together_and_once_until_all_have_ended(
    hands: Hands, alarms: Alarms
) -> None:
    alarms.rule(kinds=["run_late"], late_seconds=3600)
    runs = [start(hands.engine, "order").run_id for _ in range(3)]
    assert alarms.look() == []
    alarms.pass_time(hours=2)
    (message,) = alarms.look()
    assert title_of(message) == "[warning] 3 runs of 'order' are late"
    assert lines_of(message)[0].startswith(f"run {runs[0]} is running, and was started 2 h 00 min ago")
    for run_id in runs[:2]:
        cancel(hands.engine, run_id)
    assert alarms.look() == []
    alarms.pass_time(hours=1, seconds=1)
    (again,) = alarms.look()
    assert title_of(again) == "[warning] 3 runs of 'order' are late (still)"
    hands.work()
    assert said(alarms.look()) == [("run_late", "resolved", 3)]
    assert alarms.look() == []


def test_a_run_past_its_deadline_is_late_when_nobody_ends_it(hands: Hands, alarms: Alarms) -> None:
    register(hands.engine, document(step("a"), name="short", timeout=100))
    alarms.rule(kinds=["run_late"])
    start(hands.engine, "short")
    start(hands.engine, "order")
    alarms.pass_time(seconds=130)
    assert alarms.look() == []
    alarms.pass_time(seconds=40)
    assert [one["workflow"] for one in alarms.look()] == ["short"]


def test_a_queue_without_a_worker_is_told_at_the_second_look_and_when_it_moves(hands: Hands, alarms: Alarms) -> None:
    alarms.rule(kinds=["queue_stuck"], stuck_seconds=300)
    start(hands.engine, "order")
    start(hands.engine, "order")
    alarms.pass_time(seconds=270)
    assert alarms.look() == []
    alarms.pass_time(seconds=31)
    assert alarms.look() == []
    alarms.pass_time(only="alert", seconds=2)
    (message,) = alarms.look()
    assert title_of(message) == "[warning] queue 'default' is stuck"
    assert "2 steps wait, the first for 5 min " in lines_of(message)[0]
    assert "no worker listens to it" in lines_of(message)[0]
    assert alarms.look() == []
    hands.work()
    (over,) = alarms.look()
    assert title_of(over) == "[resolved] queue 'default' moves again"


def test_a_long_backlog_that_workers_go_through_is_not_stuck(hands: Hands, alarms: Alarms) -> None:
    alarms.rule(kinds=["queue_stuck"], stuck_seconds=300)
    _worker(hands, "default")
    for _ in range(3):
        start(hands.engine, "order")
        alarms.pass_time(seconds=400)
    assert alarms.look() == []
    first = hands.claim(hands.outbox.messages[:1])[0]
    hands.settle(first)  # at the second look another step waits longest
    alarms.pass_time(only="alert", seconds=2)
    assert alarms.look() == []
    assert alarms.look() == []
    assert [one.outcome for one in alarms.alerts()][:1] == ["resolved"]


def test_workers_that_are_busy_for_long_leave_a_queue_stuck_and_are_told(hands: Hands, alarms: Alarms) -> None:
    alarms.rule(kinds=["queue_stuck"], stuck_seconds=300)
    _worker(hands, "default")
    for _ in range(2):
        start(hands.engine, "order")
    hands.claim(hands.outbox.messages[:1])
    alarms.pass_time(seconds=200)
    assert alarms.look() == []
    alarms.pass_time(seconds=200)
    alarms.look()
    alarms.pass_time(only="alert", seconds=2)
    (message,) = alarms.look()
    assert "workers that listen: 1; steps they run: 1, the last begun 6 min " in lines_of(message)[0]


def test_what_no_worker_may_take_makes_no_queue_stuck(hands: Hands, alarms: Alarms) -> None:
    """Steps of paused runs, steps that wait for slots of a pool, steps that are held."""
    register(hands.engine, document(step("a", pool="none"), name="pooled"))
    alarms.rule(kinds=["queue_stuck"], stuck_seconds=60)
    pause(hands.engine, start(hands.engine, "order").run_id)
    start(hands.engine, "pooled")
    for _ in range(3):
        alarms.pass_time(hours=1)
        assert alarms.look() == []


def test_a_rule_of_an_app_is_about_queues_in_which_that_app_waits(hands: Hands, alarms: Alarms) -> None:
    set_app(hands.db, "other")
    alarms.rule("theirs", kinds=["queue_stuck"], app="other")
    alarms.rule("ours", kinds=["queue_stuck"])
    alarms.rule("another", kinds=["queue_stuck"], queue="slow")
    start(hands.engine, "order")
    alarms.pass_time(hours=1)
    alarms.look()
    alarms.pass_time(only="alert", seconds=2)
    assert [one["rule"] for one in alarms.look()] == ["ours"]


def test_schedules_that_want_a_person_are_told_and_that_they_no_longer_do(hands: Hands, alarms: Alarms) -> None:
    alarms.rule(kinds=["schedule_paused", "schedule_late", "schedule_error"])
    alarms.rule("tagged", kinds=["schedule_paused"], tags=["eu"])
    id = create_schedule(hands.engine, "nightly", {"workflow": "order", "cron": "0 3 * * *"})
    assert alarms.look() == []
    _change(
        hands,
        "UPDATE schedules SET paused_at = now(), paused_by = 'engine', pause_reason = '3 runs in a row failed',"
        " due_at = NULL",
    )
    (message,) = alarms.look()
    assert title_of(message) == "[warning] schedule 'nightly' was paused after failures"
    assert lines_of(message)[0] == "3 runs in a row failed; it fires again when it is resumed"
    assert alarms.look() == []
    resume_schedule(hands.engine, id)
    assert said(alarms.look()) == [("schedule_paused", "resolved", 1)]
    _change(hands, "UPDATE schedules SET due_at = now() - interval '1 hour', error = 'no input', error_at = now()")
    assert {one["kind"] for one in alarms.look()} == {"schedule_late", "schedule_error"}


def test_a_person_who_pauses_a_schedule_needs_no_alert(hands: Hands, alarms: Alarms) -> None:
    alarms.rule(kinds=["schedule_paused"])
    create_schedule(hands.engine, "nightly", {"workflow": "order", "cron": "0 3 * * *"}, paused=True)
    assert alarms.look() == []
