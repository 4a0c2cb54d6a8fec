"""A worker that has done what it was sent takes the best ready steps itself, and gives back what it does not begin."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator.domain.outcome import Outcome
from orchestrator.services.claim import Claimed, claim_ready, release
from orchestrator.services.engine import Settings
from orchestrator.services.pause import pause
from orchestrator.services.settle_all import Done, settle_all
from orchestrator.store.batch import Take
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import LEASE, Hands, together

# Nothing is sent: every step that may start stays ready.
HELD_BACK = Settings(window=0)


@pytest.fixture
def hands(db: Database) -> Hands:
    return Hands(db, {"slow": lambda: None}, HELD_BACK)


def wanted(
    room: int = 10, functions: Sequence[str] = ("ok",), *, anything: bool = True, queue: str = "default"
) -> Take:
    return Take(LEASE, queue, room, functions, anything)


def names(hands: Hands, claimed: Sequence[Claimed]) -> list[str]:
    sites = [hands.engine.site(one.revision_id, one.position) for one in claimed]
    return [site.step.name for site in sites if site is not None]


def test_the_best_are_taken_first(hands: Hands) -> None:
    hands.start(document(step("low"), step("a", priority=3), step("b"), step("high", priority=5)))
    assert sorted(names(hands, claim_ready(hands.engine, wanted(2)))) == ["a", "high"]


def test_behind_a_step_of_another_function_nothing_is_taken(hands: Hands) -> None:
    hands.start(document(step("a", function="slow", priority=1), step("b"), step("c")))
    assert names(hands, claim_ready(hands.engine, wanted())) == ["a"]
    assert sorted(names(hands, claim_ready(hands.engine, wanted()))) == ["b", "c"]
    assert claim_ready(hands.engine, wanted()) == []


def test_with_something_in_hand_only_the_short_are_taken(hands: Hands) -> None:
    hands.start(document(step("a", function="slow", priority=1), step("b"), step("c")))
    assert sorted(names(hands, claim_ready(hands.engine, wanted(anything=False)))) == ["b", "c"]
    assert claim_ready(hands.engine, wanted(anything=False)) == []


def test_neither_another_queue_nor_a_paused_run_is_touched(hands: Hands) -> None:
    hands.start(document(step("a", queue="gpu")))
    pause(hands.engine, hands.start(document(step("b"))))
    assert claim_ready(hands.engine, wanted()) == []


def test_two_workers_never_take_the_same_step(hands: Hands) -> None:
    hands.start(document(*(step(f"s{i}") for i in range(60))))
    got = together([lambda: claim_ready(hands.engine, wanted(20))] * 4)
    taken = [one.step_id for each in got for one in each]
    assert len(taken) == len(set(taken)) >= 20


def test_what_is_given_back_counts_as_never_begun(hands: Hands) -> None:
    run = hands.start(document(step("a"), step("b")))
    before = hands.steps(run)
    claimed = claim_ready(hands.engine, wanted())
    assert release(hands.engine, [(one.step_id, one.token) for one in claimed]) == {"default"}
    assert hands.steps(run) == before
    again = claim_ready(hands.engine, wanted())
    assert [one.attempt for one in again] == [1, 1]
    assert {one.token for one in again}.isdisjoint(one.token for one in claimed)


def test_what_is_no_longer_held_is_not_given_back(hands: Hands) -> None:
    run = hands.start(document(step("a")))
    (a,) = claim_ready(hands.engine, wanted())
    settle_all(hands.engine, [Done(a, Outcome.succeeded(1, "1"))])
    assert release(hands.engine, [(a.step_id, a.token)]) == frozenset()
    assert hands.status(run) == "succeeded"


def test_nothing_to_give_back_asks_nobody(hands: Hands) -> None:
    hands.db.close()
    assert release(hands.engine, []) == frozenset()
