"""How much of its queue a hand takes, and when it asks."""

from __future__ import annotations

import pytest

from orchestrator.store.batch import Take
from orchestrator.store.transition import Lease
from workers import appetite as module
from workers.appetite import LOOK_SECONDS, REST_SECONDS, Appetite
from workers.durations import MOST, Durations


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def hand(clock: Clock) -> Appetite:
    durations = Durations()
    durations.note("tiny", 0.0, repeatable=True)
    durations.note("slow", 1.0, repeatable=True)
    made = Appetite(durations, Lease("w", 60.0), "default")
    made.called("tiny")
    return made


def wanted(hand: Appetite, held: int = 0) -> Take:
    take = hand.wanted(held)
    assert take is not None
    return take


def test_it_takes_three_times_as_many_as_it_has_settled_at_once(hand: Appetite) -> None:
    found = [wanted(hand).more]
    for count in (1, 3, 2, 9):
        hand.settled(count, None, found=False)
        found.append(wanted(hand).more)
    assert found == [3, 3, 9, 9, 27]


def test_there_is_room_for_what_it_does_not_hold_yet(hand: Appetite) -> None:
    assert (wanted(hand).room, wanted(hand).anything) == (MOST, True)
    assert (wanted(hand, MOST - 1).room, wanted(hand, 1).anything) == (1, False)
    assert hand.wanted(MOST) is None


def test_behind_a_slow_one_only_a_hand_with_nothing_in_it_takes_one(hand: Appetite) -> None:
    hand.called("slow")
    assert (wanted(hand).room, wanted(hand).functions) == (1, [])
    assert hand.wanted(1) is None


def test_it_looks_often_while_it_finds_others_and_seldom_when_it_does_not(hand: Appetite, clock: Clock) -> None:
    def looks_after(seconds: float, *, found: bool) -> bool:
        take = wanted(hand)
        hand.settled(1, take, found=found)
        clock.now += seconds
        return wanted(hand).look

    assert looks_after(LOOK_SECONDS * 1.1, found=True)
    assert not looks_after(LOOK_SECONDS * 0.5, found=True)
    clock.now += 1.0
    assert not looks_after(LOOK_SECONDS * 1.1, found=False)
    clock.now += LOOK_SECONDS * 5
    assert wanted(hand).look


def test_it_rests_only_while_it_finds_short_ones(hand: Appetite, clock: Clock) -> None:
    assert hand.rest() == 0.0
    hand.settled(1, wanted(hand), found=True)
    assert hand.rest() == pytest.approx(REST_SECONDS)
    hand.called("slow")
    assert hand.rest() == 0.0
    hand.called("tiny")
    clock.now += REST_SECONDS
    assert hand.rest() == 0.0
    hand.settled(1, wanted(hand), found=False)
    assert hand.rest() == 0.0
