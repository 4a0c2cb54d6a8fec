"""Sleeps, events and approvals: suspended, woken, gone on with (docs/adr/0015)."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.domain.outcome import Outcome
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.decide import decide
from orchestrator.services.pause import pause, resume
from orchestrator.services.settle_all import Done
from orchestrator.services.signal import signal
from orchestrator.store.db import Database
from tests.documents import document
from tests.hands import Hands, audited, together

PAID = {"name": "paid", "wait_for": {"event": "paid"}}


def sleeping(seconds: Any, **keys: Any) -> dict[str, Any]:
    return document({"name": "nap", "sleep": seconds, **keys})


@pytest.mark.parametrize("seconds", [90, "{{ input.seconds }}"])
def test_a_sleep_takes_as_long_as_it_says(seconds: Any) -> None:
    run = testing.run(sleeping(seconds), {"seconds": 90})
    assert (run.status, run.output, run.duration.total_seconds()) == ("succeeded", {"nap": None}, 90)
    assert run.steps["nap"].attempts == 1


def test_a_sleep_until_a_time_ends_then_and_one_that_has_passed_at_once() -> None:
    later = testing.run(sleeping("2040-01-01T00:00:00+01:00"), at=testing.datetime(2039, 12, 31, 22))
    assert later.duration.total_seconds() == 3600
    assert testing.run(sleeping("2001-01-01")).duration.total_seconds() == 0


@pytest.mark.parametrize("value", ["soon", -1, True, None, 10**12])
def test_a_sleep_that_is_no_time_fails_saying_so(value: Any) -> None:
    run = testing.run(sleeping("{{ input.value }}"), {"value": value})
    assert "`sleep` must become seconds, or a time" in (run.error or {})["message"]


def test_the_timeout_of_a_sleeping_step_ends_its_attempt_and_its_retry_follows() -> None:
    run = testing.run(sleeping(60, timeout=10, retry={"max_attempts": 2, "delay": 5}))
    assert (run.status, run.steps["nap"].reason, run.steps["nap"].attempts) == ("failed", "timeout", 2)
    assert run.duration.total_seconds() == 25


def test_an_event_is_the_output_of_the_step_that_waits_for_it(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(
        document(PAID, {"name": "ship", "pass": True, "input": "{{ steps.paid.output.by }}", "depends_on": "paid"})
    )
    hands.work()
    waiting = hands.steps(run_id)["paid"]
    assert (waiting["status"], waiting["attempts"], hands.status(run_id)) == ("waiting", 1, "running")
    sent = signal(hands.engine, run_id, "paid", {"by": "card"}, actor="ada")
    assert (sent.step, sent.earlier) == ("paid", None)
    hands.work()
    assert (hands.status(run_id), hands.steps(run_id)["ship"]["output"]) == ("succeeded", "card")
    assert hands.steps(run_id)["paid"]["attempts"] == 1


def test_an_event_that_comes_before_its_wait_is_kept(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document({"name": "first", "function": "ok"}, PAID | {"depends_on": "first"}))
    assert signal(hands.engine, run_id, "paid", 1).step is None
    hands.work()
    assert (hands.status(run_id), hands.steps(run_id)["paid"]["output"]) == ("succeeded", 1)


def test_each_wait_takes_one_signal_in_the_order_they_came(db: Database) -> None:
    hands = Hands(db)
    again = {"name": "again", "wait_for": {"event": "paid"}, "depends_on": "paid"}
    run_id = hands.start(document(PAID, again))
    hands.work()
    first, second = (signal(hands.engine, run_id, "paid", number, actor=f"a{number}") for number in (1, 2))
    assert (first.step, second.step) == ("paid", None)
    assert second.earlier is not None
    assert (second.earlier.id, second.earlier.actor) == (first.id, "a1")
    hands.work()
    assert {name: row["output"] for name, row in hands.steps(run_id).items()} == {"paid": 1, "again": 2}


def test_of_two_signals_at_one_moment_one_wins_and_both_are_told(db: Database) -> None:
    hands = Hands(db)
    for _ in range(20):
        run_id = hands.start(document(PAID, name="race"))
        hands.work()
        sent = together([partial(signal, hands.engine, run_id, "paid", n) for n in (1, 2)])
        winner, loser = sorted(sent, key=lambda one: one.step is None)
        assert (winner.step, loser.step) == ("paid", None)
        tick(hands.engine)  # the one may have passed over the row because the other looked at it
        hands.work()
        assert hands.steps(run_id)["paid"]["output"] == sent.index(winner) + 1


def test_a_signal_as_the_step_is_suspended_is_never_lost(db: Database) -> None:
    hands = Hands(db)
    for _ in range(100):
        run_id = hands.start(document(PAID, name="race"))
        done = [hands.perform(claimed) for claimed in hands.claim()]
        together([partial(hands.settle_all, done), partial(signal, hands.engine, run_id, "paid", 1)])
        tick(hands.engine)
        hands.work()
        assert hands.status(run_id) == "succeeded"


@pytest.mark.parametrize(
    ("on_timeout", "status", "reason", "run_status"),
    [
        ("fail", "failed", "timeout", "failed"),
        ("skip", "skipped", "timeout", "succeeded"),
        ("continue", "succeeded", None, "succeeded"),
    ],
)
def test_an_event_that_does_not_come_in_time(on_timeout: str, status: str, reason: str | None, run_status: str) -> None:
    run = testing.run(document({"name": "a", "wait_for": {"event": "e", "timeout": 60, "on_timeout": on_timeout}}))
    step = run.steps["a"]
    assert (run.status, step.status, step.reason, step.output) == (run_status, status, reason, None)
    assert run.duration.total_seconds() == 60


def test_a_wait_that_nothing_can_end_is_told_by_name_in_a_test() -> None:
    with pytest.raises(testing.Stuck, match="paid"):
        testing.run(document(PAID))


def test_a_test_sends_events_and_decides_approvals() -> None:
    doc = document(
        PAID, {"name": "ok?", "wait_for": {"approval": {"title": "Go?", "fields": {"n": {"type": "integer"}}}}}
    )
    run = testing.run(doc, signals={"paid": 5}, approvals={"ok?": {"n": 3}})
    assert run.output == {"paid": 5, "ok?": {"approved": True, "by": "testing", "comment": None, "fields": {"n": 3}}}


def test_what_the_schema_refuses_is_not_sent_and_the_step_waits_on(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document({"name": "a", "wait_for": {"event": "e", "schema": {"required": ["amount"]}}}))
    hands.work()
    with pytest.raises(InvalidInput, match="amount"):
        signal(hands.engine, run_id, "e", {})
    assert signal(hands.engine, run_id, "e", {"amount": 1}).step == "a"


def test_a_signal_nothing_waits_for_is_refused_with_the_near_name(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(PAID))
    with pytest.raises(NotFound, match="did you mean 'paid'"):
        signal(hands.engine, run_id, "payed")
    cancel(hands.engine, run_id)
    with pytest.raises(Conflict, match="the run is canceled"):
        signal(hands.engine, run_id, "paid")


def approval(**keys: Any) -> dict[str, Any]:
    asked = {
        "title": "Refund {{ input.amount }}?",
        "fields": {"note": {"type": "string"}},
        "assignees": "{{ ['ada'] }}",
    }
    return document({"name": "ask", "wait_for": {"approval": asked | keys}})


def test_an_approval_asks_and_takes_one_decision(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(approval(), {"amount": 5})
    hands.work()
    with db.transaction() as conn:
        wait = conn.scalar(text("SELECT wait FROM workflow_run_steps"))
    assert (wait["title"], wait["assignees"]) == ("Refund 5?", ["ada"])
    with pytest.raises(InvalidInput, match="note"):
        decide(hands.engine, run_id, "ask", True)
    assert decide(hands.engine, run_id, "ask", True, {"note": "fine"}, actor="bob").step == "ask"
    with db.transaction() as conn:
        assert audited(conn, "approve") == [("bob", run_id, None)]
    with pytest.raises(Conflict, match="decided by bob"):
        decide(hands.engine, run_id, "ask", False, comment="no", actor="eve")
    hands.work()
    assert hands.steps(run_id)["ask"]["output"] == {
        "approved": True,
        "by": "bob",
        "comment": None,
        "fields": {"note": "fine"},
    }


@pytest.mark.parametrize(("on_reject", "status"), [("fail", "failed"), ("continue", "succeeded")])
def test_a_no_fails_the_step_unless_it_is_to_go_on(db: Database, on_reject: str, status: str) -> None:
    hands = Hands(db)
    run_id = hands.start(approval(on_reject=on_reject), {"amount": 5})
    hands.work()
    decide(hands.engine, run_id, "ask", False, comment="too much", actor="bob")
    hands.work()
    step = hands.steps(run_id)["ask"]
    assert step["status"] == status
    if status == "failed":
        assert step["error"]["message"] == "rejected by bob: too much"
    else:
        assert step["output"]["approved"] is False


def test_a_decision_is_no_event_anybody_may_send(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(approval(), {"amount": 5})
    with pytest.raises(Conflict, match="approved or rejected"):
        signal(hands.engine, run_id, "approval:ask", {"approved": True})


@pytest.mark.parametrize("force", [False, True])
def test_a_canceled_run_ends_although_a_step_waits(db: Database, force: bool) -> None:
    hands = Hands(db)
    run_id = hands.start(document(PAID))
    hands.work()
    cancel(hands.engine, run_id, force=force)
    assert (hands.status(run_id), hands.steps(run_id)["paid"]["reason"]) == ("canceled", "canceled")


def test_a_step_asked_to_stop_in_its_first_half_does_not_begin_to_wait(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(PAID))
    done = [hands.perform(claimed) for claimed in hands.claim()]
    cancel(hands.engine, run_id)
    hands.settle_all(done)
    assert (hands.status(run_id), hands.steps(run_id)["paid"]["status"]) == ("canceled", "canceled")


def test_a_drained_run_lets_a_waiting_step_come_to_its_end(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(PAID, {"name": "bad", "function": "boom"}, failure_mode="drain"))
    hands.work()
    assert hands.steps(run_id)["paid"]["status"] == "waiting"
    signal(hands.engine, run_id, "paid")
    hands.work()
    assert (hands.status(run_id), hands.steps(run_id)["paid"]["status"]) == ("failed", "succeeded")


def test_a_paused_run_keeps_what_comes_and_goes_on_with_it(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(PAID))
    hands.work()
    pause(hands.engine, run_id)
    assert signal(hands.engine, run_id, "paid").step == "paid"
    hands.work()
    assert hands.steps(run_id)["paid"]["status"] == "ready"
    resume(hands.engine, run_id)
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_a_lost_second_half_is_repeated_with_what_had_come(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(PAID))
    hands.work()
    signal(hands.engine, run_id, "paid", 7)
    for claimed in hands.claim():
        hands.settle(claimed, Outcome.lost("its worker died"))
    tick(hands.engine)
    hands.work()
    assert (hands.status(run_id), hands.steps(run_id)["paid"]["output"]) == ("succeeded", 7)


def test_a_late_suspension_changes_nothing(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(sleeping(1))
    late: list[Done] = [hands.perform(claimed) for claimed in hands.claim()]
    for one in late:
        hands.settle(one.claimed, Outcome.lost("it fell silent"))
    assert [settled.stale for settled in hands.settle_all(late)] == [True]
    assert hands.steps(run_id)["nap"]["status"] == "queued"


def test_the_coordinator_wakes_what_has_waited_long_enough(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(sleeping(3600))
    hands.work()
    tick(hands.engine)
    assert hands.steps(run_id)["nap"]["status"] == "waiting"
    over = {"for": "time", "until": "2001-01-01T00:00:00+00:00"}
    with db.transaction() as conn:
        conn.execute(text("UPDATE workflow_run_steps SET wake_at = now(), wait = :wait"), {"wait": json.dumps(over)})
    tick(hands.engine)
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_a_step_that_waited_has_taken_as_long_as_it_waited(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(PAID))
    hands.work()
    before = hands.steps(run_id)["paid"]["started_at"]
    signal(hands.engine, run_id, "paid")
    hands.work()
    after = hands.steps(run_id)["paid"]
    assert (after["status"], after["started_at"]) == ("succeeded", before)
