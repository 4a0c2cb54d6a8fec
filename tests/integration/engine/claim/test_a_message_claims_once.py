"""A message is a hint: the claim decides who runs the step."""

from __future__ import annotations

from functools import partial

from orchestrator import testing
from orchestrator.services.claim import claim
from orchestrator.services.coordinate import tick
from orchestrator.store.db import Database
from orchestrator.store.transition import Lease, Queued
from tests.documents import FUNCTIONS, document, step
from tests.hands import Hands, together


def test_a_message_that_comes_twice_is_claimed_once(db: Database) -> None:
    hands = Hands(db)
    hands.start(document(step("a")))
    (message,) = hands.outbox.take()
    assert len(hands.claim([message, message])) == 1
    assert hands.claim([message]) == []


def test_of_two_workers_with_the_same_message_one_wins(db: Database) -> None:
    hands = Hands(db)
    for _ in range(50):
        hands.start(document(step("a")))
        (message,) = hands.outbox.take()
        claims = [partial(claim, hands.engine, [message], Lease(who, 60)) for who in ("one", "two")]
        one, two = together(claims)
        assert len(one) + len(two) == 1


def test_a_claimed_message_of_a_worker_is_kept_in_the_messages_order() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        box.start(document(*(step(f"s{i}") for i in range(5))))
        messages = list(reversed(box._waiting))
        claimed = claim(box.engine, messages, Lease("w", 60))
        assert [c.step_id for c in claimed] == [m.step_id for m in messages]


def test_a_guessed_token_claims_nothing(db: Database) -> None:
    hands = Hands(db)
    hands.start(document(step("a")))
    (message,) = hands.outbox.take()
    assert hands.claim([Queued(message.step_id, "00000000-0000-4000-8000-000000000000")]) == []


def test_a_message_sent_again_by_the_coordinator_is_still_claimed_once() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        box.start(document(step("a")))
        lost = box._waiting.pop()
        box.pass_time(60)
        tick(box.engine)
        (again,) = box._waiting
        assert again == lost
        assert len(claim(box.engine, [lost, again], Lease("w", 60))) == 1
