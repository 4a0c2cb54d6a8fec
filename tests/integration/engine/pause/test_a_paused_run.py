"""Pause: running steps go on, nothing new starts, and the run does not end; resume."""

from __future__ import annotations

import pytest

from orchestrator import testing
from orchestrator.errors import Conflict
from orchestrator.services.coordinate import tick
from orchestrator.services.pause import pause, resume
from orchestrator.store.db import Database
from tests.documents import FUNCTIONS, document, step
from tests.hands import SUCCESS, Hands

WORKFLOW = document(step("a"), step("b", "a"))


def test_messages_on_their_way_start_nothing(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(WORKFLOW)
    pause(hands.engine, run_id, reason="lunch")
    assert hands.claim() == []
    assert hands.steps(run_id)["a"]["status"] == "ready"
    for _ in range(3):
        tick(hands.engine)
    assert hands.outbox.take() == []


def test_a_running_step_goes_on_and_what_it_makes_ready_waits(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(WORKFLOW)
    (a,) = hands.claim()
    pause(hands.engine, run_id)
    hands.settle(a, SUCCESS)
    tick(hands.engine)
    assert hands.outbox.take() == []
    assert [hands.steps(run_id)[name]["status"] for name in "ab"] == ["succeeded", "ready"]
    resume(hands.engine, run_id)
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_it_does_not_end_before_it_is_resumed(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a"), on_success={"function": "ok"}))
    (a,) = hands.claim()
    pause(hands.engine, run_id)
    hands.settle(a, SUCCESS)
    assert hands.status(run_id) == "paused"
    assert "on_success" not in hands.steps(run_id)
    resume(hands.engine, run_id)
    hands.work()
    assert hands.status(run_id) == "succeeded"
    assert hands.steps(run_id)["on_success"]["status"] == "succeeded"


def test_a_retry_that_falls_due_waits_too() -> None:
    calls: list[int] = []

    def once() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError

    with testing.sandbox({"once": once}) as box:
        run_id = box.start(document(step("a", function="once", retry={"max_attempts": 2, "delay": 10})))
        box.step()
        pause(box.engine, run_id)
        box.pass_time(60)
        tick(box.engine)
        assert not box.step()
        resume(box.engine, run_id)
        box.drive(run_id)
        assert box.result(run_id).status == "succeeded"


def test_only_a_running_run_can_be_paused_and_only_a_paused_one_resumed() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(WORKFLOW)
        with pytest.raises(Conflict, match="only a paused run"):
            resume(box.engine, run_id)
        pause(box.engine, run_id)
        with pytest.raises(Conflict, match="only a running run"):
            pause(box.engine, run_id)
        resume(box.engine, run_id)
        box.drive(run_id)
        with pytest.raises(Conflict):
            pause(box.engine, run_id)


def test_its_deadline_still_holds() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(WORKFLOW | {"timeout": 60})
        pause(box.engine, run_id)
        box.pass_time(61)
        tick(box.engine)
        assert box.result(run_id).status == "failed"
        assert {s.reason for s in box.result(run_id).steps.values()} == {"deadline"}


def test_other_runs_go_on() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        one, other = box.start(WORKFLOW), box.start(WORKFLOW)
        pause(box.engine, one)
        box.drive(other)
        assert (box.result(one).status, box.result(other).status) == ("paused", "succeeded")
