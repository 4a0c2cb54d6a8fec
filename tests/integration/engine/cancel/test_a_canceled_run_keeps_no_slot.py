"""Whenever a run is canceled, nothing of it starts afterwards, its slots are free and it leaves `canceling`."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.pools import set_pool
from orchestrator.store.db import Database
from orchestrator.store.reads import get_pool
from tests.documents import document, step
from tests.families import children_of, levels, start_family
from tests.hands import Hands

MOMENTS = ("at its start", "sent", "running", "waiting to retry", "asleep", "three levels below", "items", "no worker")


def pooled(name: str = "a", **keys: Any) -> dict[str, Any]:
    return step(name, pool="gpu", slots=2, **keys)


def at(hands: Hands, moment: str) -> tuple[str, list[Any]]:
    """A run whose slots are taken at this moment, and its attempts under way."""
    if moment == "three levels below":
        run_id = start_family(hands, *levels("top", "second", "third", "low", leaf=pooled("leaf")))
        for _ in range(3):
            for claimed in hands.claim():
                hands.settle(claimed)
        return run_id, hands.claim()
    if moment == "items":
        run_id = hands.start(document(step("a", pool="gpu", with_items=[1, 2, 3])))
        hands.settle(hands.claim()[0])
        return run_id, hands.claim()
    if moment == "asleep":
        run_id = hands.start(document({"name": "a", "sleep": 3600, "pool": "gpu", "slots": 2}))
        hands.work()
        return run_id, []
    retried = {"function": "fail", "retry": {"max_attempts": 3, "delay": 3600}} if moment == "waiting to retry" else {}
    run_id = hands.start(document(pooled(**retried), step("b", "a")))
    if moment == "waiting to retry":
        hands.work()
    if moment in ("at its start", "no worker"):
        hands.outbox.take()
    return run_id, hands.claim() if moment == "running" else []


@pytest.mark.parametrize("force", [False, True], ids=["gracefully", "by force"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_nothing_starts_after_it_and_its_slots_are_free(module_db: Database, moment: str, force: bool) -> None:
    hands = Hands(module_db)
    set_pool(hands.engine, "gpu", 2, actor="test")
    run_id, held = at(hands, moment)
    cancel(hands.engine, run_id, force=force)
    for claimed in held:
        assert hands.settle(claimed).stale == force
    for claimed in hands.claim():  # a step whose child has ended goes on with its attempt
        assert moment == "three levels below"
        hands.settle(claimed)
    tick(hands.engine)
    hands.work()
    for one in (run_id, *below(hands, run_id)):
        assert hands.status(one) == "canceled"
        assert {row["status"] for row in hands.steps(one).values()} <= {"canceled", "succeeded"}
        assert sum(row["attempts"] for row in hands.steps(one).values()) <= 1
    with hands.db.transaction() as conn:
        assert get_pool(conn, "gpu")["taken"] == 0
    again = hands.start(document(pooled(), name="again"))
    hands.work()
    assert hands.status(again) == "succeeded"


def below(hands: Hands, run_id: str) -> list[str]:
    found = children_of(hands, run_id)
    return found + [lower for child in found for lower in below(hands, child)]
