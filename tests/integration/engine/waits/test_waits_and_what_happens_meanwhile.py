"""Decisions made at once, drains between the halves of a step, and names and texts that cannot be stored."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, NotFound
from orchestrator.functions import make_spec
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.decide import decide
from orchestrator.services.mark import mark
from orchestrator.services.retry import retry
from orchestrator.services.signal import signal
from orchestrator.store.db import Database
from tests.documents import document, ok, step
from tests.hands import Hands, together
from tests.integration.engine.races.test_overlapping_work_never_deadlocks import deadlocks

BAD = step("bad", function="fail")


def statuses(hands: Hands, run_id: str) -> dict[str, str]:
    return {name: row["status"] for name, row in hands.steps(run_id).items()}


def test_of_two_decisions_before_the_question_the_second_is_refused(db: Database) -> None:
    hands = Hands(db)
    asking = document(step("a"), {"name": "ask", "depends_on": "a", "wait_for": {"approval": {"title": "well?"}}})

    def accepted(run_id: str, who: str) -> bool:
        try:
            decide(hands.engine, run_id, "ask", True, actor=who)
        except Conflict:
            return False
        return True

    for _ in range(10):
        run_id = hands.start(asking)
        assert together([partial(accepted, run_id, who) for who in ("ada", "bob", "cy", "di")]).count(True) == 1


def event(**keys: Any) -> dict[str, Any]:
    return {"name": "event", "wait_for": {"event": "go", "timeout": 60}, **keys}


def drained_between_the_halves(hands: Hands, wake: Any) -> str:
    """A run that drains as its waiting step was woken, and is not gone on with yet."""
    run_id = hands.start(document(event(retry={"max_attempts": 3}), BAD, failure_mode="drain"))
    waiting, bad = sorted(hands.claim(), key=lambda claimed: claimed.position)
    hands.settle(waiting)
    wake(run_id)
    assert statuses(hands, run_id)["event"] in ("ready", "queued")
    hands.settle(bad)
    return run_id


def test_a_drain_leaves_a_step_to_its_end_whose_event_has_come(db: Database) -> None:
    hands = Hands(db)
    run_id = drained_between_the_halves(hands, lambda run_id: signal(hands.engine, run_id, "go", 1))
    hands.work()
    assert statuses(hands, run_id) == {"event": "succeeded", "bad": "failed"}


def too_late(hands: Hands) -> None:
    """The time of what waits is over."""
    with hands.db.transaction() as conn:
        conn.execute(
            text("""
            UPDATE workflow_run_steps SET wake_at = now(),
              wait = CAST(jsonb_set(CAST(wait AS jsonb), '{until}', to_jsonb(now())) AS json)
            WHERE status = 'waiting'
            """)
        )
    tick(hands.engine)


@pytest.mark.parametrize("woken", [True, False])
def test_a_drained_run_repeats_no_wait_that_ended_too_late(db: Database, woken: bool) -> None:
    hands = Hands(db)
    if woken:
        run_id = drained_between_the_halves(hands, lambda _: too_late(hands))
    else:
        run_id = hands.start(document(event(retry={"max_attempts": 3}), BAD, failure_mode="drain"))
        hands.work()
        too_late(hands)
    hands.work()
    assert (hands.status(run_id), hands.steps(run_id)["event"]["reason"]) == ("failed", "timeout")
    assert "step.retry" not in hands.events(run_id)


def test_a_drain_ends_a_step_that_waits_for_its_turn_for_it_has_called_nothing(db: Database) -> None:
    hands = Hands(db)
    hands.engine.functions.put(make_spec(ok, "rare", rate="1/h"))
    rare = [step(name, function="rare") for name in ("a", "b")]
    run_id = hands.start(document(*rare, BAD, failure_mode="drain"))
    hands.work()
    assert sorted(statuses(hands, run_id).values()) == ["canceled", "failed", "succeeded"]
    assert hands.status(run_id) == "failed"


def test_a_mark_and_signals_at_once_end_a_step_once(db: Database) -> None:
    hands = Hands(db)

    def marked(run_id: str) -> None:
        try:
            mark(hands.engine, run_id, "event", StepStatus.SUCCEEDED, output=1)
        except Conflict:
            return

    for _ in range(8):
        run_id = hands.start(document(event(), step("then", "event")))
        hands.work()
        send = partial(signal, hands.engine, run_id, "go", 2)
        together([partial(marked, run_id), send, send])
        hands.work()
        assert hands.status(run_id) == "succeeded"
    assert deadlocks(db) == 0


@pytest.mark.parametrize("value", ["{{ 'a\\u0000' }}", "{{ '\\ud800' }}"])
@pytest.mark.parametrize(
    "keys",
    [
        lambda value: {"wait_for": {"event": value}},
        lambda value: {"wait_for": {"approval": {"title": value}}},
        lambda value: {"function": "ok", "queue": value},
    ],
    ids=["event", "title", "queue"],
)
def test_what_cannot_be_stored_fails_the_step(db: Database, keys: Any, value: str) -> None:
    hands = Hands(db)
    run_id = hands.start(document({"name": "a", **keys(value)}))
    hands.work()
    assert hands.status(run_id) == "failed"


@pytest.mark.parametrize("name", ["a\0", "\ud800", "", " ", "n" * 300])
def test_a_signal_of_a_name_that_no_event_can_have_is_refused(db: Database, name: str) -> None:
    hands = Hands(db)
    run_id = hands.start(document({"name": "a", "wait_for": {"event": "{{ input.name }}"}}), {"name": "go"})
    with pytest.raises(NotFound, match="printable"):
        signal(hands.engine, run_id, name)


def test_a_question_that_is_asked_anew_after_a_retry_may_be_answered_ahead_too(db: Database) -> None:
    hands = Hands(db)
    asking = document(step("a"), {"name": "ask", "depends_on": "a", "wait_for": {"approval": {"title": "well?"}}})
    run_id = hands.start(asking)
    hands.work()
    decide(hands.engine, run_id, "ask", True)
    cancel(hands.engine, run_id)
    assert statuses(hands, run_id)["ask"] == "canceled"
    retry(hands.engine, run_id)
    decide(hands.engine, run_id, "ask", True)
    hands.work()
    assert hands.status(run_id) == "succeeded"
