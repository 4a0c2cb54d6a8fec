"""What a crash left between a commit and its messages is repaired by the next tick; any number of ticks are safe."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
from sqlalchemy import text

from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.errors import Locked, Troubled, Unreachable
from orchestrator.services import coordinate, halt, settle
from orchestrator.services.claim import Claimed, claim
from orchestrator.services.coordinate import tick
from orchestrator.services.engine import Engine, Settings
from orchestrator.services.halt import apply_halt
from orchestrator.store.db import Database
from orchestrator.store.transition import Lease, Queued
from tests.documents import document, step
from tests.hands import SUCCESS, Hands, together

FAILURE = Outcome.failed(ErrorInfo("RuntimeError", "no luck", classes=("RuntimeError", "Exception")))
AT_ONCE = Settings(resend=0)


def test_a_message_that_got_lost_is_sent_again(db: Database) -> None:
    hands = Hands(db, settings=AT_ONCE)
    run_id = hands.start(document(step("a")))
    assert len(hands.outbox.take()) == 1
    tick(hands.engine)
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_while_messages_wait_in_the_broker_none_is_sent_twice(db: Database) -> None:
    hands = Hands(db, settings=AT_ONCE)
    hands.start(document(step("a")))
    for _ in range(3):
        tick(hands.engine)
    assert len(hands.outbox.take()) == 1


def test_a_message_that_a_busy_worker_has_fetched_is_sent_again_though_others_wait(db: Database) -> None:
    """It was sent before those that wait. While the backlog lasts, nothing else would ever send it again."""
    hands = Hands(db, settings=AT_ONCE)
    hands.start(document(*(step(name) for name in "abcd")))
    fetched, *waiting = hands.outbox.take()
    for message in waiting:
        hands.outbox.send("default", [message])
    tick(hands.engine)
    tick(hands.engine)
    assert hands.outbox.messages == [*waiting, fetched]


def test_a_broker_that_cannot_be_reached_loses_nothing(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    hands = Hands(db, settings=AT_ONCE)

    def refuse(queue: str, queued: Sequence[Queued]) -> None:
        raise Unreachable("no broker")

    with monkeypatch.context() as patch:
        patch.setattr(hands.outbox, "send", refuse)
        run_id = hands.start(document(step("a"), step("b", "a")))
        tick(hands.engine)
    tick(hands.engine)
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_a_step_made_ready_by_a_worker_that_died_before_sending_is_found(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a"), step("b", "a")))
    (a,) = hands.claim()
    settle.settle(hands.engine, a, SUCCESS)  # and no dispatch
    assert hands.outbox.take() == []
    tick(hands.engine)
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_a_halt_that_was_noted_and_not_carried_out_is_carried_out(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("bad", on_error="abort"), step("beside")))
    bad, beside = hands.claim()
    with monkeypatch.context() as patch:
        patch.setattr(halt, "apply_halt", lambda *_: frozenset())  # the worker dies here
        hands.settle(bad, FAILURE)
    hands.settle(beside, SUCCESS)
    assert hands.status(run_id) == "running", "a run that is to be stopped ends by its halt"
    tick(hands.engine)
    assert hands.status(run_id) == "failed"
    assert apply_halt(hands.engine, run_id) == frozenset()


def test_a_duty_that_fails_does_not_keep_the_others_from_theirs(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    hands = Hands(db, settings=AT_ONCE)
    run_id = hands.start(document(step("a")))
    hands.outbox.take()

    def broken(engine: object) -> set[str]:
        raise RuntimeError("one bad row")

    monkeypatch.setattr(coordinate, "DUTIES", (broken, *coordinate.DUTIES))
    tick(hands.engine)
    hands.work()
    assert hands.status(run_id) == "succeeded"


@pytest.mark.parametrize("trouble", [Troubled("canceling statement due to statement timeout"), Locked("by somebody")])
def test_a_duty_that_postgres_cannot_do_now_does_not_keep_the_others_from_theirs(
    db: Database, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    hands = Hands(db, settings=AT_ONCE)
    run_id = hands.start(document(step("a")))
    hands.outbox.take()

    def troubled(engine: object) -> set[str]:
        raise trouble

    monkeypatch.setattr(coordinate, "DUTIES", (troubled, *coordinate.DUTIES))
    tick(hands.engine)
    hands.work()
    assert hands.status(run_id) == "succeeded"


def two_lost(hands: Hands) -> tuple[str, str]:
    """Two runs whose worker fell silent, in the order in which the coordinator comes to them."""
    runs = sorted(hands.start(document(step("a"))) for _ in range(2))
    claim(hands.engine, hands.outbox.take(), Lease("silent", 0))
    return runs[0], runs[1]


def test_a_row_that_cannot_be_settled_keeps_no_other_waiting(
    db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hands = Hands(db)
    bad, good = two_lost(hands)

    def settles(engine: Engine, claimed: Claimed, outcome: Outcome) -> settle.Settled:
        if claimed.run_id == bad:
            raise ValueError("one bad row")
        return settle.settle(engine, claimed, outcome)

    monkeypatch.setattr(coordinate, "settle", settles)
    tick(hands.engine)
    hands.work()
    assert (hands.status(bad), hands.status(good)) == ("running", "succeeded")
    assert f"run {bad}" in caplog.text


def test_a_locked_row_is_left_to_the_next_tick_and_keeps_no_other_waiting(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    impatient = Database(db.engine, lock_timeout=0.01)
    hands = Hands(impatient)
    locked, free = two_lost(hands)
    with db.engine.begin() as other:
        other.execute(text("SELECT FROM workflow_run_steps WHERE run_id = :id FOR UPDATE"), {"id": locked})
        tick(hands.engine)
        hands.work()
        assert (hands.status(locked), hands.status(free)) == ("running", "succeeded")
    assert f"run {locked} is left to the next tick" in caplog.text
    tick(hands.engine)
    hands.work()
    assert hands.status(locked) == "succeeded"


def test_coordinators_at_the_same_moment_send_a_due_retry_once(db: Database) -> None:
    hands = Hands(db)
    retry = {"max_attempts": 2, "delay": 0.001}
    for _ in range(5):
        hands.start(document(*(step(f"s{i}", retry=retry) for i in range(10))))
        for claimed in hands.claim():
            hands.settle(claimed, FAILURE)
        together([partial(tick, hands.engine)] * 4)
        tick(hands.engine)  # one may have passed over rows that another looked at, or the retry was not due yet
        messages = hands.outbox.take()
        assert len(messages) == len({m.step_id for m in messages}) == 10
        for claimed in hands.claim(messages):
            hands.settle(claimed, SUCCESS)
