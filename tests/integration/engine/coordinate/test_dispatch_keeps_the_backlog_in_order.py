"""The backlog stays in Postgres: priority holds, and a window bounds what is on its way."""

from __future__ import annotations

import pytest

from orchestrator import testing
from orchestrator.services.coordinate import tick
from orchestrator.services.engine import Settings
from orchestrator.store.db import Database
from tests.documents import FUNCTIONS, document, step
from tests.hands import Hands
from tests.scripted import FUNCTION, Script


def test_the_highest_priority_goes_first_then_the_longest_ready() -> None:
    script = Script({})
    made = document(
        step("low", function=FUNCTION, priority=0),
        step("high", function=FUNCTION, priority=9),
        step("middle", function=FUNCTION, priority=5),
        step("high too", function=FUNCTION, priority=9),
        step("unsaid", function=FUNCTION),
    )
    testing.run(made, None, script.functions)
    assert script.ran == ["high", "high too", "middle", "low", "unsaid"]


def test_a_step_that_becomes_ready_late_overtakes_the_backlog_by_priority() -> None:
    script = Script({})
    backlog = [step(f"s{i}", function=FUNCTION) for i in range(6)]
    urgent = step("urgent", "s0", function=FUNCTION, priority=9)
    testing.run(document(*backlog, urgent), None, script.functions, settings=Settings(window=1))
    assert script.ran == ["s0", "urgent", "s1", "s2", "s3", "s4", "s5"]


def test_runs_share_a_queue_in_the_order_in_which_their_steps_became_ready() -> None:
    script = Script({})
    with testing.sandbox(script.functions, settings=Settings(window=1)) as box:
        for name in ("one", "two"):
            box.start(document(step(f"{name} 1", function=FUNCTION), step(f"{name} 2", function=FUNCTION)))
            box.pass_time(1)
        while box.step():
            tick(box.engine)
    assert script.ran == ["one 1", "one 2", "two 1", "two 2"]


@pytest.mark.parametrize("window", [1, 3])
def test_no_more_than_the_window_is_on_its_way(db: Database, window: int) -> None:
    hands = Hands(db, settings=Settings(window=window))
    run_id = hands.start(document(*(step(f"s{i}") for i in range(10))))
    assert len(hands.outbox.messages) == window
    tick(hands.engine)
    assert len(hands.outbox.messages) == window
    (claimed, *rest) = hands.claim()
    assert len(rest) == window - 1
    for one in (claimed, *rest):
        hands.settle(one)
        tick(hands.engine)
        assert len(hands.outbox.messages) <= window
    while hands.status(run_id) == "running":
        hands.work()
        tick(hands.engine)
    assert hands.status(run_id) == "succeeded"


def test_each_step_goes_to_its_queue(db: Database) -> None:
    hands = Hands(db)
    hands.start(
        document(
            step("plain"),
            step("named", queue="mail"),
            step("rendered", queue="region-{{ input.region }}"),
            step("by variable", queue="{{ vars.where }}"),
            vars={"where": "gpu"},
        ),
        {"region": "eu"},
    )
    assert sorted(hands.outbox.queues) == ["default", "gpu", "mail", "region-eu"]


def test_a_functions_own_queue_holds_unless_the_step_says_another(db: Database) -> None:
    hands = Hands(db)
    spec = hands.engine.functions.find("ok")
    hands.engine.functions.put(type(spec)(**{n: getattr(spec, n) for n in spec.__slots__} | {"queue": "slow"}))
    hands.start(document(step("a"), step("b", queue="fast")))
    assert sorted(hands.outbox.queues) == ["fast", "slow"]


def test_a_full_queue_does_not_hold_up_another(db: Database) -> None:
    hands = Hands(db, settings=Settings(window=1))
    hands.start(document(*(step(f"s{i}") for i in range(3)), *(step(f"m{i}", queue="mail") for i in range(3))))
    assert sorted(hands.outbox.queues) == ["default", "mail"]


def test_functions_are_found_in_the_sandbox_too() -> None:
    assert testing.run(document(step("a", queue="{{ 'x' * 200 }}")), None, FUNCTIONS).status == "succeeded"
