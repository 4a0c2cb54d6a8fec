"""Apps that share a queue or a pool take turns: the backlog of one never keeps the others waiting."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.services.apps import set_app
from orchestrator.services.coordinate import tick
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Settings
from orchestrator.services.pause import pause, resume
from orchestrator.services.pools import set_pool
from orchestrator.services.register import register
from orchestrator.services.start import StartOptions, start
from orchestrator.store.batch import Take, take
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import LEASE, Hands

APPS = ("big", "small", "third")


@pytest.fixture
def hands(db: Database) -> Hands:
    made = Hands(db, settings=Settings(window=4))
    for app in APPS:
        set_app(made.db, app, actor="test")
    return made


def run_of(hands: Hands, app: str, steps: int, **keys: Any) -> str:
    """A run of the app with so many first steps."""
    made = document(*(step(f"s{i}", function="ok", **keys) for i in range(steps)), name=f"of {steps} {sorted(keys)}")
    name = register(hands.engine, made, app=app, actor="test").workflow
    return start(hands.engine, name, None, StartOptions(app=app)).run_id


def apps_of(db: Database, steps: Iterable[str]) -> list[str]:
    """The apps of these steps, in their order."""
    found = text("SELECT CAST(s.id AS text), a.name FROM workflow_run_steps s JOIN apps a ON a.id = s.app_id")
    with db.transaction() as conn:
        names = {row[0]: row[1] for row in conn.execute(found)}
    return [names[id] for id in steps]


def sent(hands: Hands) -> list[str]:
    """The apps of what is on its way, once all that has room is."""
    dispatch(hands.engine, {"default"})
    return apps_of(hands.db, [message.step_id for message in hands.outbox.messages])


def test_a_late_app_is_next_beside_the_backlog_of_another(hands: Hands) -> None:
    run_of(hands, "big", 20)
    assert sent(hands) == ["big"] * 4
    under_way = hands.claim()
    late = run_of(hands, "small", 2)
    assert sent(hands) == ["small", "small", "big", "big"]
    hands.work()
    assert hands.status(late) == "succeeded"
    for one in under_way:
        hands.settle(one)


def test_what_is_under_way_counts_so_that_slow_steps_do_not_take_all_slots(hands: Hands) -> None:
    run_of(hands, "big", 20)
    slow = hands.claim()  # four slots are busy with these for long
    run_of(hands, "small", 20)
    assert sent(hands) == ["small"] * 4
    short = hands.claim()
    hands.settle(short[0])
    # Three of the one and four of the other are under way: the one is next, then both by turns.
    assert sent(hands) == ["small", "small", "big", "big"]
    for one in (*slow, *short[1:]):
        hands.settle(one)


def test_what_a_worker_takes_together_is_shared_among_the_apps(hands: Hands) -> None:
    for app in APPS:
        run_of(hands, app, 30)
    hands.claim()
    taken = take(hands.db, Take(LEASE, "default", 21, ["ok"]))
    shares = Counter(apps_of(hands.db, [one.id for one in taken]))
    assert sum(shares.values()) == 21
    # Four of the first app's were under way before.
    assert (shares["big"], shares["small"], shares["third"]) == (5, 8, 8)


def test_priority_goes_before_turns(hands: Hands) -> None:
    run_of(hands, "small", 8)
    hands.claim()
    run_of(hands, "big", 6, priority=9)
    assert sent(hands) == ["big"] * 4
    for one in hands.claim():
        hands.settle(one)
    assert Counter(sent(hands)) == {"big": 2, "small": 2}


def test_the_slots_of_a_pool_are_shared_among_the_apps(hands: Hands) -> None:
    set_pool(hands.engine, "gpu", 4, actor="test")
    run_of(hands, "big", 10, pool="gpu")
    first = hands.claim()
    run_of(hands, "small", 10, pool="gpu")
    assert apps_of(hands.db, [one.step_id for one in first]) == ["big"] * 4
    hands.settle(first[0])
    hands.settle(first[1])
    assert sent(hands) == ["small", "small"]
    hands.settle(first[2])
    assert sorted(sent(hands)) == ["big", "small", "small"] or sent(hands) == ["small"] * 3


def test_an_app_whose_runs_are_paused_or_held_takes_no_turn(hands: Hands) -> None:
    run_of(hands, "small", 8)
    paused = run_of(hands, "big", 8)
    pause(hands.engine, paused, reason="for a look", actor="test")
    tick(hands.engine)
    assert sent(hands) == ["small"] * 4
    for one in hands.claim():
        hands.settle(one)
    assert sent(hands) == ["small"] * 4
    resume(hands.engine, paused, actor="test")
    while sent(hands):
        for one in hands.claim():
            hands.settle(one)
    assert hands.status(paused) == "succeeded"


def expected(rows: list[tuple[str, str, int, int]], under_way: Counter[str], room: int) -> list[str]:
    """The rule in its own words: (id, app, priority, ready) rows, the next of them."""
    places: Counter[tuple[int, str]] = Counter()
    ranked = []
    for id, app, priority, ready in sorted(rows, key=lambda row: (row[3], row[0])):
        places[priority, app] += 1
        ranked.append((-priority, under_way[app] + places[priority, app], ready, id, app))
    return [(app if len(ranked) > room else id) for *_, id, app in sorted(ranked)[:room]]


@pytest.mark.parametrize("seed", range(12))
def test_the_next_steps_are_those_the_rule_names(hands: Hands, seed: int) -> None:
    dice = random.Random(seed)
    for app in APPS[: dice.randint(1, 3)]:
        run_of(hands, app, dice.randint(1, 9), priority=dice.randint(0, 1))
        run_of(hands, app, dice.randint(1, 9), priority=dice.randint(0, 1))
    dealt = hands.claim()
    for one in dice.sample(dealt, dice.randint(0, len(dealt))):
        hands.settle(one)
    hands.outbox.take()
    room = dice.randint(1, 12)
    with hands.db.transaction() as conn:
        ready = [tuple(row) for row in conn.execute(text(_READY))]
        under_way = Counter(conn.execute(text(_UNDER_WAY)).scalars())
        told = conn.execute(text("SELECT CAST(orchestrator_next('default', :room) AS text[])"), {"room": room}).scalar()
    assert told is not None
    named = told if len(ready) <= room else apps_of(hands.db, told)
    assert Counter(named) == Counter(expected(ready, under_way, room))
    by_priority = {id: priority for id, _, priority, _ in ready}
    assert [by_priority[id] for id in told] == sorted((by_priority[id] for id in told), reverse=True)


_READY = """
SELECT CAST(s.id AS text), a.name, s.priority, rank() OVER (ORDER BY s.ready_at)
FROM workflow_run_steps s JOIN apps a ON a.id = s.app_id WHERE s.status = 'ready'
"""
_UNDER_WAY = """
SELECT a.name FROM workflow_run_steps s JOIN apps a ON a.id = s.app_id WHERE s.status IN ('queued', 'running')
"""
