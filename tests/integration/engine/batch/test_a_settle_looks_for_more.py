"""Who settles takes others of its queue in the same transaction: the best, for as long as its hand is not half full."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import text

from orchestrator.services.claim import Claimed, claim_ready
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Settings
from orchestrator.services.hold import hold
from orchestrator.services.pause import pause
from orchestrator.services.pools import set_pool
from orchestrator.services.settle_all import Done, SettledAll, settle_all
from orchestrator.store.batch import Take
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import LEASE, SUCCESS, Hands


@pytest.fixture
def hands(db: Database) -> Hands:
    """Nothing is sent: every step that may start stays ready."""
    return Hands(db, {"slow": lambda: None}, Settings(window=0))


def looking(more: int = 50, room: int = 10, *, anything: bool = False) -> Take:
    return Take(LEASE, "default", room, ("ok",), anything, more, look=True)


def begun(hands: Hands, dependants: int) -> Claimed:
    """The first step of a run with so many dependants, claimed."""
    first = step("first", priority=9)
    hands.start(document(first, *(step(f"next{i}", depends_on=["first"]) for i in range(dependants))))
    (claimed,) = claim_ready(hands.engine, Take(LEASE, "default", 1, ("ok",)))
    return claimed


def settle(hands: Hands, claimed: Claimed, take: Take) -> SettledAll:
    return settle_all(hands.engine, [Done(claimed, SUCCESS)], take)


def names(hands: Hands, claimed: Sequence[Claimed]) -> list[str]:
    sites = [hands.engine.site(one.revision_id, one.position) for one in claimed]
    return [site.step.name for site in sites if site is not None]


def transactions(hands: Hands) -> int:
    """How many of them wrote the steps that have begun."""
    with hands.db.transaction() as conn:
        return int(
            conn.execute(
                text(
                    "SELECT count(DISTINCT xmin::text) FROM workflow_run_steps WHERE status IN ('running', 'succeeded')"
                )
            ).scalar_one()
        )


@pytest.mark.parametrize("dependants", [0, 1, 2])
def test_others_of_the_queue_are_taken_with_what_follows_in_one_transaction(hands: Hands, dependants: int) -> None:
    claimed = begun(hands, dependants)
    hands.start(document(*(step(f"other{i}", priority=i) for i in range(4))))
    settled = settle(hands, claimed, looking(2))
    assert sorted(names(hands, settled.next)) == sorted([f"next{i}" for i in range(dependants)] + ["other2", "other3"])
    assert (settled.found, settled.looked, settled.queues) == (True, True, frozenset())
    assert transactions(hands) == 1


@pytest.mark.parametrize(("dependants", "room", "others"), [(3, 4, 0), (2, 4, 2), (1, 1, 0), (0, 1, 1)])
def test_a_hand_that_is_half_full_takes_no_others(hands: Hands, dependants: int, room: int, others: int) -> None:
    claimed = begun(hands, dependants)
    hands.start(document(*(step(f"other{i}") for i in range(9))))
    settled = settle(hands, claimed, looking(room=room))
    assert sum(name.startswith("other") for name in names(hands, settled.next)) == others
    assert settled.found == (others > 0)


def test_who_is_not_to_look_takes_others_only_with_nothing_in_hand(hands: Hands) -> None:
    found = []
    for dependants, anything in ((1, True), (0, False), (0, True)):
        claimed = begun(hands, dependants)
        hands.start(document(step("other")))
        settled = settle(hands, claimed, Take(LEASE, "default", 10, ("ok",), anything))
        found.append(names(hands, settled.next))
    assert found == [["next0"], [], ["other"]]


@pytest.mark.parametrize(("anything", "taken"), [(False, "short"), (True, "slow")])
@pytest.mark.parametrize("dependants", [0, 1])
def test_what_a_look_leaves_is_told_as_a_dispatcher_may_have_passed_it_over(
    hands: Hands, dependants: int, anything: bool, taken: str
) -> None:
    """It was locked: who made it ready at that moment, and an idle worker that asked, have found nothing."""
    claimed = begun(hands, dependants)
    hands.start(document(step("slow", function="slow", priority=5), step("short")))
    settled = settle(hands, claimed, looking(anything=anything and not dependants))
    expected = "short" if dependants else taken
    assert names(hands, settled.next) == ["next0"] * dependants + [expected]
    assert settled.queues == {"default"}


def test_what_a_look_has_locked_is_passed_over_by_a_dispatcher(hands: Hands) -> None:
    """Why what it leaves has to be told."""
    hands.start(document(step("slow", function="slow")))
    able = Hands(hands.db)
    look = "SELECT FROM orchestrator_take_best('default', 'w', 60, 10, '{ok}', true) t WHERE t.id IS NOT NULL"
    with hands.db.engine.connect() as conn:
        assert conn.execute(text(look)).all() == []
        assert dispatch(able.engine, ["default"]) == 0
        conn.commit()
    assert dispatch(able.engine, ["default"]) == 1


def test_what_may_not_start_is_not_taken(hands: Hands) -> None:
    claimed = begun(hands, 0)
    hold(hands.engine, hands.start(document(step("held"))), "held")
    pause(hands.engine, hands.start(document(step("paused"))))
    set_pool(hands.engine, "p", 1, actor="test")
    hands.start(document(step("of a pool", pool="p"), step("of another queue", queue="gpu"), name="v"))
    settled = settle(hands, claimed, looking(anything=True))
    assert (settled.next, settled.found, settled.looked, settled.queues) == ((), False, True, frozenset())


def test_who_lost_a_claim_is_to_ask_again(hands: Hands) -> None:
    claimed = begun(hands, 1)
    take = looking(anything=True)
    assert settle(hands, claimed, Take(LEASE, "default", 1, (), False)).stale == frozenset()
    again = settle(hands, claimed, take)
    assert again.stale == {claimed.step_id}
    assert not again.next
    assert not again.looked
