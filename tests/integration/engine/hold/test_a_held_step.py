"""A held step does not start, whoever comes for it, until it is released."""

from __future__ import annotations

from datetime import timedelta

import pytest

from orchestrator import testing
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, NotFound
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import claim_ready
from orchestrator.services.claim import release as give_back
from orchestrator.services.coordinate import find_ready, tick
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.retry import retry
from orchestrator.services.settle import settle
from orchestrator.services.settle_all import Done, settle_all
from orchestrator.services.signal import signal
from orchestrator.store.batch import Take
from orchestrator.store.db import Database
from tests.documents import FUNCTIONS, document, step
from tests.hands import LEASE, SUCCESS, Hands, audited

CHAIN = document(step("a"), step("b", "a"), step("c", "b"))
ANY = Take(LEASE, "default", 8, ("ok",))


def status(hands: Hands, run_id: str, name: str) -> str:
    return str(hands.steps(run_id)[name]["status"])


def test_a_queued_step_is_taken_back_and_its_message_starts_nothing(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(CHAIN)
    assert hold(hands.engine, run_id, "a") is StepStatus.READY
    assert hands.claim() == []
    for _ in range(3):
        tick(hands.engine)
    assert hands.outbox.take() == []
    assert claim_ready(hands.engine, ANY) == []
    assert find_ready(hands.engine) == set()
    release(hands.engine, run_id, "a")
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_one_held_before_its_turn_becomes_ready_and_stays_so(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(CHAIN)
    hold(hands.engine, run_id, "b")
    hands.work()
    tick(hands.engine)
    assert [status(hands, run_id, name) for name in "abc"] == ["succeeded", "ready", "pending"]
    assert hands.outbox.take() == []
    release(hands.engine, run_id, "b")
    hands.work()
    assert hands.status(run_id) == "succeeded"


@pytest.mark.parametrize("plainly", [True, False])
def test_a_worker_does_not_go_on_with_a_held_step_it_has_made_ready(db: Database, plainly: bool) -> None:
    hands = Hands(db)
    run_id = hands.start(CHAIN)
    hold(hands.engine, run_id, "b")
    (a,) = hands.claim()
    if plainly:
        settled = settle_all(hands.engine, [Done(a, SUCCESS)], ANY)
        assert settled.next == ()
    else:
        assert settle(hands.engine, a, SUCCESS, take_next=LEASE).next is None
    assert status(hands, run_id, "b") == "ready"
    assert claim_ready(hands.engine, ANY) == []


def test_a_running_one_goes_on_but_is_not_tried_again(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a", function="fail", retry={"max_attempts": 2, "delay": 0})))
    (a,) = hands.claim()
    assert hold(hands.engine, run_id, "a") is StepStatus.RUNNING
    hands.settle(a)
    tick(hands.engine)
    assert (status(hands, run_id, "a"), hands.outbox.take()) == ("ready", [])
    release(hands.engine, run_id, "a")
    hands.work()
    assert hands.status(run_id) == "failed"
    assert hands.steps(run_id)["a"]["attempts"] == 2


def test_a_running_one_that_ends_well_is_over(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(CHAIN)
    (a,) = hands.claim()
    hold(hands.engine, run_id, "a")
    hands.settle(a, SUCCESS)
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_one_a_worker_gives_back_unbegun_stays(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(CHAIN)
    (a,) = hands.claim()
    hold(hands.engine, run_id, "a")
    give_back(hands.engine, [(a.step_id, a.token)])
    assert claim_ready(hands.engine, ANY) == []
    assert status(hands, run_id, "a") == "ready"


def test_a_retry_that_falls_due_waits_for_the_release() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a", function="fail", retry={"max_attempts": 2, "delay": 10})))
        box.step()
        hold(box.engine, run_id, "a")
        box.clock.skip(timedelta(seconds=60))
        tick(box.engine)
        assert not box.step()
        release(box.engine, run_id, "a")
        box.drive(run_id)
        assert box.result(run_id).steps["a"].attempts == 2


def test_a_pass_step_that_is_held_does_not_end() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        gate = {"name": "gate", "pass": True, "depends_on": ["a"], "input": "{{ steps.a.output }}"}
        run_id = box.start(document(step("a", input={"x": 1}), gate, step("b", "gate")))
        hold(box.engine, run_id, "gate")
        assert box.step()
        assert not box.step()
        assert box.result(run_id).steps["gate"].status == "pending"
        release(box.engine, run_id, "gate")
        box.drive(run_id)
        result = box.result(run_id)
        assert (result.status, result.steps["gate"].output) == ("succeeded", {"x": 1})


def test_a_last_pass_step_that_is_held_keeps_the_run_open() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a"), {"name": "gate", "pass": True, "depends_on": ["a"]}))
        hold(box.engine, run_id, "gate")
        box.step()
        assert box.result(run_id).status == "running"
        release(box.engine, run_id, "gate")
        assert box.result(run_id).status == "succeeded"


def test_a_held_step_is_canceled_with_its_run_and_still_held_when_that_is_retried() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(CHAIN)
        hold(box.engine, run_id, "a")
        cancel(box.engine, run_id)
        assert box.result(run_id).status == "canceled"
        retry(box.engine, run_id)
        while box.step():  # messages from before
            pass
        assert box.result(run_id).steps["a"].status == "ready"
        release(box.engine, run_id, "a")
        box.drive(run_id)
        assert box.result(run_id).status == "succeeded"


def test_a_sandbox_tells_that_nothing_but_the_hold_keeps_the_run() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(CHAIN)
        hold(box.engine, run_id, "a")
        with pytest.raises(testing.Stuck, match="a is ready and held, b is pending"):
            box.drive(run_id)


def test_its_deadlines_hold() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        later = {"max_attempts": 3, "delay": 5}
        retried = box.start(document(step("a", function="fail", total_timeout=20, retry=later)))
        box.step()
        timed = box.start(document(step("a"), timeout=20, name="timed"))
        for run_id in (retried, timed):
            hold(box.engine, run_id, "a")
        box.clock.skip(timedelta(seconds=30))
        tick(box.engine)
        assert box.result(retried).steps["a"].reason == "total_timeout"
        assert {box.result(run_id).status for run_id in (retried, timed)} == {"failed"}


def test_one_that_waits_is_woken_and_goes_no_further() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document({"name": "a", "wait_for": {"event": "paid"}}, step("b", "a")))
        box.step()
        assert hold(box.engine, run_id, "a") is StepStatus.WAITING
        signal(box.engine, run_id, "paid", {"amount": 5})
        tick(box.engine)
        assert not box.step()
        assert box.result(run_id).steps["a"].status == "ready"
        release(box.engine, run_id, "a")
        box.drive(run_id)
        assert box.result(run_id).steps["a"].output == {"amount": 5}


def test_a_mark_ends_it_and_the_hold_with_it() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(CHAIN)
        hold(box.engine, run_id, "b")
        mark(box.engine, run_id, "b", StepStatus.SKIPPED)
        with pytest.raises(Conflict, match="'b' is not held"):
            release(box.engine, run_id, "b")


def test_other_steps_of_the_queue_go_on(db: Database) -> None:
    hands = Hands(db)
    one, other = hands.start(CHAIN), hands.start(CHAIN)
    hold(hands.engine, one, "a")
    hands.work()
    assert (hands.status(one), hands.status(other)) == ("running", "succeeded")


def test_who_held_and_released_it_and_why_is_in_the_audit_and_what_does_not_fit_is_told() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a"), step("b", "a"), on_finish={"function": "ok"}))
        hold(box.engine, run_id, "b", reason="call first", actor="ada")
        with pytest.raises(Conflict, match="'b' is held already, by ada"):
            hold(box.engine, run_id, "b")
        with pytest.raises(Conflict, match="'a' is not held"):
            release(box.engine, run_id, "a")
        with pytest.raises(NotFound, match="no step 'x'"):
            hold(box.engine, run_id, "x")
        with pytest.raises(Conflict, match="the handler 'on_finish' has not started"):
            hold(box.engine, run_id, "on_finish")
        release(box.engine, run_id, "b", reason="called", actor="eve")
        assert audited(box.connection, "hold") == [("ada", run_id, "call first")]
        assert audited(box.connection, "release") == [("eve", run_id, "called")]
        box.drive(run_id)
        with pytest.raises(Conflict, match="'a' is succeeded: only a step that has not ended"):
            hold(box.engine, run_id, "a")
