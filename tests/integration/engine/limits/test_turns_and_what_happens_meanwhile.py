"""Runs that wait for their turn, and what operators, other starts and their own steps do meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.pools import set_pool
from orchestrator.services.register import register
from orchestrator.services.rerun import rerun
from orchestrator.services.retry import retry
from orchestrator.services.start import start, start_many
from orchestrator.services.start_plain import StartOptions
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands, together
from tests.integration.engine.races.test_overlapping_work_never_deadlocks import deadlocks

LIMITED = document(step("a"), max_active_runs=1)


def statuses(hands: Hands, runs: list[str]) -> list[str]:
    return [hands.status(run) for run in runs]


def test_runs_that_end_as_they_begin_let_any_number_of_others_begin(db: Database) -> None:
    hands = Hands(db)
    first = hands.start(document(step("a", when="input.go"), max_active_runs=1), {"go": True})
    others = [one.run_id for one in start_many(hands.engine, "w", [{"go": False}] * 200)]
    hands.work()
    assert set(statuses(hands, [first, *others])) == {"succeeded"}


def marked(hands: Hands, run_id: str) -> None:
    mark(hands.engine, run_id, "p", StepStatus.SKIPPED)


def held_and_released(hands: Hands, run_id: str) -> None:
    hold(hands.engine, run_id, "p")
    release(hands.engine, run_id, "p")


@pytest.mark.parametrize("act", [marked, held_and_released])
def test_a_run_whose_steps_end_before_its_turn_ends_once_in_its_turn(
    db: Database, act: Callable[[Hands, str], None]
) -> None:
    hands = Hands(db)
    first = hands.start(LIMITED)
    second = hands.start(document({"name": "p", "pass": True}, max_active_runs=1))
    act(hands, second)
    assert (hands.status(second), hands.events(second).count("run.succeeded")) == ("pending", 0)
    hands.work()
    assert statuses(hands, [first, second]) == ["succeeded", "succeeded"]
    assert hands.events(second).count("run.succeeded") == 1


def test_a_run_that_is_retried_without_ever_having_had_its_turn_begins_then(db: Database) -> None:
    hands = Hands(db)
    runs = [hands.start(LIMITED) for _ in range(2)]
    cancel(hands.engine, runs[1])
    hands.work()
    retry(hands.engine, runs[1])
    runs.append(hands.start(LIMITED))
    hands.work()  # its end is the next one's turn, as any other's
    with db.transaction() as conn:
        assert conn.scalar(text("SELECT count(*) FROM workflow_runs WHERE started_at IS NULL")) == 0
    assert statuses(hands, runs) == ["succeeded"] * 3


def test_starts_of_many_keys_lock_their_limits_in_one_order(db: Database) -> None:
    hands = Hands(db)
    register(hands.engine, document(step("a"), max_active_runs=1, concurrency_key="{{ input.key }}"), actor="test")
    keys: list[Any] = [{"key": key} for key in range(30)]

    def start_all(inputs: list[Any]) -> None:
        for _ in range(5):
            start_many(hands.engine, "w", inputs)

    together([partial(start_all, keys), partial(start_all, keys[::-1])])
    assert deadlocks(db) == 0


def test_a_rerun_and_a_retry_of_one_limited_run_do_not_wait_for_each_other(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a"), step("b", "a", function="fail"), max_active_runs=1000))
    hands.work()

    def often(act: Callable[[], object]) -> None:
        for _ in range(40):
            with suppress(Conflict):
                act()
            for claimed in hands.claim():
                hands.settle(claimed)

    reruns = partial(often, partial(rerun, hands.engine, run_id, from_steps="b"))
    retries = partial(often, partial(retry, hands.engine, run_id))
    together([reruns, reruns, retries, retries])
    assert deadlocks(db) == 0


def test_starts_with_one_key_at_once_give_one_run_and_none_is_refused(db: Database) -> None:
    hands = Hands(db)
    for i in range(10):
        register(hands.engine, document(step("a"), name=f"w{i}", max_active_runs=1, on_limit="reject"), actor="test")
        options = StartOptions(idempotency_key="key")
        made = together([partial(start, hands.engine, f"w{i}", None, options)] * 4)
        assert len({one.run_id for one in made}) == 1


def pooled(hands: Hands, name: str, **keys: Any) -> str:
    return hands.start(document(step("a", pool="gpu", **keys), name=name))


def test_a_freed_slot_goes_past_a_held_step_to_the_next_one(db: Database) -> None:
    hands = Hands(db)
    set_pool(hands.engine, "gpu", 1, actor="test")
    runs = [pooled(hands, "one", queue="q1"), pooled(hands, "held", queue="q2", priority=9)]
    runs.append(pooled(hands, "three", queue="q3"))
    hold(hands.engine, runs[1], "a")
    hands.work()
    assert statuses(hands, runs) == ["succeeded", "running", "succeeded"]


def test_a_step_that_asks_for_more_than_its_pool_has_left_keeps_no_other_from_its_slots(db: Database) -> None:
    hands = Hands(db)
    set_pool(hands.engine, "gpu", 3, actor="test")
    runs = [pooled(hands, "two", slots=2), pooled(hands, "three", slots=3), pooled(hands, "one")]
    set_pool(hands.engine, "gpu", 2, actor="test")
    hands.work()
    assert statuses(hands, runs) == ["succeeded", "running", "succeeded"]
    set_pool(hands.engine, "gpu", 3, actor="test")
    tick(hands.engine)
    hands.work()
    assert hands.status(runs[1]) == "succeeded"


@pytest.mark.parametrize("key", ["k" * 1001, "a\0", "\ud800"])
def test_an_idempotency_key_that_cannot_be_kept_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput, match="1000 bytes"):
        StartOptions(idempotency_key=key)
