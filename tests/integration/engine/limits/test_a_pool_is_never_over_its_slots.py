"""Pools: named slots that steps of all runs share."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.dispatch import dispatch
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.pools import remove_pool, set_pool
from orchestrator.services.signal import signal
from orchestrator.store.batch import Take, take
from orchestrator.store.db import Database
from orchestrator.store.reads import get_pool, list_pools
from tests.documents import document, step
from tests.hands import LEASE, Hands, together


@pytest.fixture
def hands(db: Database) -> Hands:
    made = Hands(db)
    set_pool(made.engine, "gpu", 2, actor="test")
    return made


def pooled(name: str = "a", **keys: Any) -> dict[str, Any]:
    return step(name, function="ok", pool="gpu", **keys)


def waiting(hands: Hands, run_id: str) -> dict[str, str]:
    return {name: row["status"] for name, row in hands.steps(run_id).items()}


def test_as_many_steps_go_out_as_the_pool_has_slots(hands: Hands) -> None:
    run_id = hands.start(document(*(pooled(f"s{i}") for i in range(5))))
    assert sorted(waiting(hands, run_id).values()) == ["queued", "queued", "ready", "ready", "ready"]
    first = hands.claim()
    assert (len(first), dispatch(hands.engine, {"default"})) == (2, 0)
    hands.settle(first[0])
    assert len(hands.outbox.messages) == 1  # the slot goes to the next at once
    hands.settle(first[1])
    hands.work()
    assert hands.status(run_id) == "succeeded"


@pytest.mark.parametrize("how", ["cancel", "force", "mark", "halt", "fail fast"])
def test_slots_that_an_act_gives_back_are_given_out_by_it(hands: Hands, how: str) -> None:
    other = step("other", function="fail", on_error="abort" if how == "halt" else "fail")
    items = {"items": [1, 2], "fail_fast": True}
    held = pooled("held", **({"with_items": items} if how == "fail fast" else {"slots": 2}))
    run_id = hands.start(document(held, other))
    claimed = hands.claim()
    if how == "fail fast":
        hands.settle(next(one for one in claimed if one.position == 0))
        claimed = hands.claim()
    next_one = hands.start(document(pooled(slots=2), name="next"))
    assert waiting(hands, next_one) == {"a": "ready"}
    match how:
        case "cancel":  # what was sent and not begun
            waits = hands.start(document(pooled(slots=2, priority=9), name="waits"))
            hands.settle(claimed[0])
            assert (waiting(hands, waits), waiting(hands, next_one)) == ({"a": "queued"}, {"a": "ready"})
            cancel(hands.engine, waits)
        case "force":
            cancel(hands.engine, run_id, force=True)
        case "mark":
            mark(hands.engine, run_id, "held", StepStatus.SKIPPED, force=True)
        case "halt":
            hands.settle(next(one for one in claimed if one.position == 1))
        case "fail fast":
            hands.settle(claimed[0], Outcome.failed(ErrorInfo("ValueError", "no"), final=True))
    assert waiting(hands, next_one) == {"a": "queued"}


def test_a_worker_that_goes_on_takes_nothing_of_a_pool(hands: Hands) -> None:
    hands.start(document(pooled(), pooled("b"), pooled("c")))
    assert take(hands.db, Take(LEASE, "default", 10)) == []
    next_to_none = hands.start(document(step("first", function="ok"), pooled("then", depends_on="first")))
    hands.outbox.take()
    assert waiting(hands, next_to_none)["then"] == "pending"


def test_a_step_may_take_several_slots_and_the_first_in_line_is_not_passed(hands: Hands) -> None:
    set_pool(hands.engine, "gpu", 3, actor="test")
    run_id = hands.start(document(pooled("a", slots=2), pooled("b", slots=2), pooled("c")))
    assert waiting(hands, run_id) == {"a": "queued", "b": "ready", "c": "ready"}
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_the_highest_priority_of_all_queues_gets_the_slot(hands: Hands) -> None:
    set_pool(hands.engine, "gpu", 1, actor="test")
    low = hands.start(document(*(pooled(f"l{i}") for i in range(3)), name="low"))
    high = hands.start(document(pooled("h", priority=9, queue="other"), name="high"))
    held = hands.claim()
    assert [one.run_id for one in held] == [low]
    hands.settle(held[0])
    assert (hands.outbox.queues, [one.run_id for one in hands.claim()]) == (["other"], [high])


@pytest.mark.parametrize("how", ["lost", "retried", "canceled", "paused"])
def test_what_gives_up_its_attempt_gives_back_its_slot(hands: Hands, how: str) -> None:
    set_pool(hands.engine, "gpu", 1, actor="test")
    first = hands.start(document(pooled(retry={"max_attempts": 2, "delay": 60}), name="first"))
    held = hands.claim() if how != "paused" else []
    second = hands.start(document(pooled(), name="second"))
    assert waiting(hands, second) == {"a": "ready"}
    if how == "lost":
        hands.settle(held[0], Outcome.lost("it died"))
    elif how == "retried":
        hands.settle(held[0], Outcome.failed(ErrorInfo("ValueError", "no", classes=("ValueError",))))
    elif how == "canceled":
        cancel(hands.engine, first, force=True)
    else:
        pause(hands.engine, first)
    hands.outbox.take()
    tick(hands.engine)
    assert waiting(hands, second) == {"a": "queued"}
    with hands.db.transaction() as conn:
        assert get_pool(conn, "gpu")["taken"] == 1
    if how == "paused":
        resume(hands.engine, first)


def test_a_step_that_waits_keeps_its_slot_and_goes_on_in_it(hands: Hands) -> None:
    set_pool(hands.engine, "gpu", 1, actor="test")
    first = hands.start(document({"name": "a", "wait_for": {"event": "e"}, "pool": "gpu"}, name="first"))
    hands.work()
    second = hands.start(document(pooled(), name="second"))
    assert (waiting(hands, first), waiting(hands, second)) == ({"a": "waiting"}, {"a": "ready"})
    signal(hands.engine, first, "e")
    hands.work()
    assert (hands.status(first), hands.status(second)) == ("succeeded", "succeeded")


def test_with_many_dispatchers_a_pool_of_one_never_runs_two(db: Database) -> None:
    hands = Hands(db)
    set_pool(hands.engine, "one", 1, actor="test")
    runs = [hands.start(document(*(step(f"s{i}", function="ok", pool="one") for i in range(10)))) for _ in range(3)]
    held = text("SELECT count(*) FROM workflow_run_steps WHERE pool = 'one' AND status IN ('queued', 'running')")
    most = 0

    def work() -> None:
        nonlocal most
        while any(hands.status(run) == "running" for run in runs):
            dispatch(hands.engine, {"default"})
            for claimed in hands.claim():
                with db.transaction() as conn:
                    most = max(most, int(conn.scalar(held) or 0))
                hands.settle(claimed)

    together([partial(work) for _ in range(4)])
    assert most == 1


def test_a_pool_with_no_slots_starts_nothing_until_it_has_some(hands: Hands) -> None:
    set_pool(hands.engine, "gpu", 0, actor="test")
    run_id = hands.start(document(pooled()))
    tick(hands.engine)
    assert waiting(hands, run_id) == {"a": "ready"}
    set_pool(hands.engine, "gpu", 1, actor="test")
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_a_pool_that_is_not_there_or_too_small_fails_the_step_saying_so(hands: Hands) -> None:
    missing = hands.start(document(step("a", function="ok", pool="cpu")))
    assert "there is no pool 'cpu'" in hands.steps(missing)["a"]["error"]["message"]
    large = hands.start(document(pooled(slots=3)))
    assert "takes 3 slots of pool 'gpu', which has 2" in hands.steps(large)["a"]["error"]["message"]


def test_pools_are_listed_with_who_holds_them(hands: Hands) -> None:
    run_id = hands.start(document(*(pooled(f"s{i}") for i in range(3))))
    with hands.db.transaction() as conn:
        [pool] = list_pools(conn)
        shown = get_pool(conn, "gpu")
        with pytest.raises(NotFound, match="did you mean 'gpu'"):
            get_pool(conn, "gpus")
    assert (pool["slots"], pool["taken"], pool["waiting"]) == (2, 2, 1)
    assert {(held["run_id"], held["step"]) for held in shown["holders"]} == {(run_id, "s0"), (run_id, "s1")}


def test_a_pool_in_use_is_not_removed(hands: Hands) -> None:
    run_id = hands.start(document(pooled()))
    with pytest.raises(Conflict, match="hold slots of pool 'gpu'"):
        remove_pool(hands.engine, "gpu", actor="test")
    cancel(hands.engine, run_id, force=True)
    remove_pool(hands.engine, "gpu", actor="test")
    with pytest.raises(NotFound):
        remove_pool(hands.engine, "gpu", actor="test")


@pytest.mark.parametrize(("name", "slots"), [("gpu", -1), ("gpu", 10**6), (" ", 1), ("a\nb", 1)])
def test_a_pool_that_cannot_be_is_refused(hands: Hands, name: str, slots: int) -> None:
    with pytest.raises(InvalidInput):
        set_pool(hands.engine, name, slots, actor="test")
