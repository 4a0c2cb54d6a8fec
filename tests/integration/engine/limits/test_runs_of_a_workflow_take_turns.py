"""`max_active_runs`: how many runs of a workflow, per value of its `concurrency_key`, are active at once."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.errors import Conflict, InvalidInput
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.pause import pause, resume
from orchestrator.services.register import register
from orchestrator.services.retry import retry
from orchestrator.services.start import start, start_many
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands, together


def limited(most: int = 1, **keys: Any) -> dict[str, Any]:
    return document(step("a", function="ok"), max_active_runs=most, **keys)


def statuses(hands: Hands, runs: list[str]) -> list[str]:
    return [hands.status(run) for run in runs]


def test_runs_past_the_limit_wait_and_begin_in_the_order_they_came(db: Database) -> None:
    hands = Hands(db)
    runs = [hands.start(limited(2)) for _ in range(4)]
    assert statuses(hands, runs) == ["running", "running", "pending", "pending"]
    first, second = hands.claim()
    hands.settle(first)
    assert statuses(hands, runs) == ["succeeded", "running", "running", "pending"]
    hands.settle(second)
    hands.work()
    assert statuses(hands, runs) == ["succeeded"] * 4
    assert "run.admitted" in hands.events(runs[3])


def test_each_value_of_the_key_has_a_limit_of_its_own(db: Database) -> None:
    hands = Hands(db)
    name = register(hands.engine, limited(concurrency_key="{{ input.who }}"), actor="test").workflow
    runs = [one.run_id for one in start_many(hands.engine, name, [{"who": who} for who in ("ada", "bob", "ada")])]
    assert statuses(hands, runs) == ["running", "running", "pending"]
    with pytest.raises(InvalidInput, match="who"):
        start(hands.engine, name, {})


def test_a_start_past_the_limit_can_be_refused(db: Database) -> None:
    hands = Hands(db)
    hands.start(limited(on_limit="reject"))
    with pytest.raises(Conflict, match="1 runs are active already"):
        hands.start(limited(on_limit="reject"))


def test_a_start_past_the_limit_can_cancel_the_oldest(db: Database) -> None:
    hands = Hands(db)
    runs = [hands.start(limited(2, on_limit="cancel_oldest")) for _ in range(2)]
    held = hands.claim()
    runs.append(hands.start(limited(2, on_limit="cancel_oldest")))
    tick(hands.engine)
    assert statuses(hands, runs) == ["canceling", "running", "pending"]
    for claimed in held:
        hands.settle(claimed)
    hands.work()
    assert statuses(hands, runs) == ["canceled", "succeeded", "succeeded"]


@pytest.mark.parametrize("end", ["canceled", "failed", "paused"])
def test_a_run_frees_its_place_when_it_ends_however_and_not_while_it_is_paused(db: Database, end: str) -> None:
    hands = Hands(db)
    doc = document(step("a", function="boom" if end == "failed" else "ok"), max_active_runs=1)
    runs = [hands.start(doc) for _ in range(2)]
    if end == "failed":
        hands.settle(hands.claim()[0])
    elif end == "canceled":
        cancel(hands.engine, runs[0])
    else:
        pause(hands.engine, runs[0])
        tick(hands.engine)
        assert hands.status(runs[1]) == "pending"
        resume(hands.engine, runs[0])
        hands.work()
    assert hands.status(runs[1]) in ("running", "succeeded")


def test_a_run_that_waits_for_its_turn_can_be_canceled(db: Database) -> None:
    hands = Hands(db)
    runs = [hands.start(limited()) for _ in range(3)]
    cancel(hands.engine, runs[1])
    assert statuses(hands, runs) == ["running", "canceled", "pending"]
    hands.work()
    assert statuses(hands, runs) == ["succeeded", "canceled", "succeeded"]


def test_the_timeout_of_a_run_begins_with_its_turn(db: Database) -> None:
    hands = Hands(db)
    runs = [hands.start(limited(timeout=60)) for _ in range(2)]
    deadlines = text("SELECT deadline_at IS NULL FROM workflow_runs ORDER BY id")
    with db.transaction() as conn:
        assert list(conn.scalars(deadlines)) == [False, True]
    hands.settle(hands.claim()[0])
    with db.transaction() as conn:
        assert list(conn.scalars(deadlines)) == [False, False]
    assert hands.status(runs[1]) == "running"


def test_a_retry_past_the_limit_is_refused(db: Database) -> None:
    hands = Hands(db)
    first = hands.start(document(step("a", function="boom"), max_active_runs=1))
    hands.work()
    second = hands.start(document(step("a", function="boom"), max_active_runs=1))
    with pytest.raises(Conflict, match="limit"):
        retry(hands.engine, first)
    hands.work()
    assert hands.status(second) == "failed"
    retry(hands.engine, first)


def test_starts_and_ends_at_the_same_moment_never_pass_the_limit_nor_lose_a_turn(db: Database) -> None:
    hands = Hands(db)
    name = register(hands.engine, limited(2), actor="test").workflow
    most = 0
    active = text("SELECT count(*) FROM workflow_runs WHERE status IN ('running', 'paused', 'canceling')")

    def begin() -> list[str]:
        return [start(hands.engine, name).run_id for _ in range(8)]

    def work() -> list[str]:
        nonlocal most
        for _ in range(200):
            for claimed in hands.claim():
                with db.transaction() as conn:
                    most = max(most, int(conn.scalar(active) or 0))
                hands.settle(claimed)
        return []

    runs = [run for made in together([begin, begin, work, work, partial(work)]) for run in made]
    for _ in range(20):
        tick(hands.engine)
        hands.work()
    assert statuses(hands, runs) == ["succeeded"] * 16
    assert most <= 2
