"""`orchestrator show --why`: an answer in words for every state of a step."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.client import Orchestrator
from orchestrator.errors import NotFound
from orchestrator.services.cancel import cancel
from orchestrator.services.hold import hold
from orchestrator.services.pause import pause
from orchestrator.services.pools import set_pool
from orchestrator.services.register import register
from orchestrator.services.settle_all import Done
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.services.why import why
from orchestrator.store.db import Database
from orchestrator.store.reads import run_now
from orchestrator.store.workers import WorkerInfo, announce
from tests.documents import document, step
from tests.hands import LEASE, SUCCESS, Hands


def told(hands: Hands, run_id: str, name: str = "a") -> str:
    return " ".join(Orchestrator(hands.engine).run(run_id).why(name))


def alive(hands: Hands, kind: str = "worker", concurrency: int = 1) -> None:
    id = LEASE.worker_id if kind == "worker" else "beat"
    with hands.db.transaction() as conn:
        announce(conn, WorkerInfo(id, kind, "host", 7, ["default"], concurrency, None, "1"))


def test_of_a_pending_step_the_beginning_of_the_chain_is_told(db: Database) -> None:
    hands = Hands(db)
    event = {"name": "paid", "wait_for": {"event": "paid", "timeout": 600}}
    run_id = hands.start(document(event, step("b", "paid"), step("a", "b")))
    hands.work()
    said = told(hands, run_id)
    assert said.startswith("'a' waits for 'b', which is pending. 'paid' waits for event 'paid' (")


def test_of_many_open_sources_the_first_are_named(db: Database) -> None:
    hands = Hands(db)
    names = [f"s{i}" for i in range(6)]
    run_id = hands.start(document(*(step(name) for name in names), step("a", *names)))
    assert "It waits for 3 more steps." in told(hands, run_id)


def test_a_retry_says_when_and_after_what(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a", function="fail", retry={"max_attempts": 2, "delay": 600})))
    hands.work()
    said = told(hands, run_id)
    assert "'a' is retried in " in said
    assert "; the last attempt: " in said


def test_a_queue_without_a_worker_is_named_and_a_missing_coordinator(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a")))
    assert "'a' was sent to queue 'default'" in told(hands, run_id)
    assert "No worker listens to queue 'default'" in told(hands, run_id)
    alive(hands)
    assert "No coordinator is alive" in told(hands, run_id)
    alive(hands, "beat")
    assert told(hands, run_id).endswith("the first worker that is free takes it.")


def test_busy_workers_are_told_with_what_they_are_at(db: Database) -> None:
    hands = Hands(db)
    alive(hands)
    hands.start(document(step("long")))
    held = hands.claim()
    run_id = hands.start(document(step("a")))
    assert "All 1 slots of the queue's workers are busy: 'long' for " in told(hands, run_id)
    hands.settle(held[0])


def test_a_running_step_says_where_and_that_it_was_asked_to_stop(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a")))
    held = hands.claim()
    assert "'a' is running, on hand for " in told(hands, run_id)
    cancel(hands.engine, run_id, reason="too late", actor="ada")
    said = told(hands, run_id)
    assert "It was asked to stop" in said
    assert "The run is being canceled by ada because too late" in said
    hands.settle_all([Done(held[0], SUCCESS)])
    assert told(hands, run_id) == "'a' has ended: it is succeeded."


def test_a_pool_says_who_holds_its_slots(db: Database) -> None:
    hands = Hands(db)
    set_pool(hands.engine, "gpu", 1, actor="test")
    first = hands.start(document(step("holder", pool="gpu")))
    run_id = hands.start(document(step("a", pool="gpu")))
    expected = f"'a' waits for slots of pool 'gpu': 1 of its 1 slots are taken, held by 'holder' of run {first}."
    assert expected in told(hands, run_id)


def test_a_pause_a_hold_and_a_turn_say_who_and_why(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a"), max_active_runs=1))
    waiting = hands.start(document(step("a"), max_active_runs=1))
    assert f"The run waits for its turn under max_active_runs: {run_id} are active before it." in told(hands, waiting)
    hold(hands.engine, run_id, "a", reason="look first", actor="bob")
    pause(hands.engine, run_id, reason="deploy", actor="ada")
    said = told(hands, run_id)
    assert "'a' is held by bob since " in said
    assert " because look first (orchestrator release " in said
    assert "The run is paused by ada because deploy: nothing of it starts" in said


def test_an_ended_step_says_how_it_ended(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a", function="fail"), step("b", "a")))
    hands.work()
    assert "'a' has ended: it is failed: it raised an error (" in told(hands, run_id)
    assert told(hands, run_id, "b") == "'b' has ended: it is upstream_failed: a step it needs failed."


def test_waits_say_for_what(db: Database) -> None:
    hands = Hands(db)
    waits: list[tuple[dict[str, Any], str]] = [
        ({"sleep": 600}, "'a' sleeps for another "),
        ({"wait_for": {"approval": {"title": "Go?"}}}, "'a' waits for a decision: Go?"),
        ({"wait_for": {"event": "e"}}, "'a' waits for event 'e'."),
    ]
    for keys, words in waits:
        run_id = hands.start(document({"name": "a", **keys}))
        hands.work()
        assert words in told(hands, run_id)


def test_a_step_larger_than_its_pool_says_that_it_waits_for_a_larger_one(db: Database) -> None:
    hands = Hands(db)
    set_pool(hands.engine, "gpu", 3, actor="test")
    hands.start(document(step("holder", pool="gpu", slots=2)))
    run_id = hands.start(document(step("a", pool="gpu", slots=3)))
    for size, has in ((2, "has 2 now"), (0, "is closed")):
        set_pool(hands.engine, "gpu", size, actor="test")
        grow = "it waits until the pool is made larger (orchestrator pools 'gpu' --slots N)"
        assert f"'a' takes 3 slots of pool 'gpu', which {has}: {grow}." in told(hands, run_id)


def test_of_an_item_it_is_told_too_and_of_its_step_the_first_that_is_open(db: Database) -> None:
    hands = Hands(db)
    asked = {"items": [1, 2, 3], "concurrency": 2}
    each = {"name": "a", "with_items": asked, "wait_for": {"event": "paid-{{ item }}"}}
    run_id = hands.start(document(step("first"), each | {"depends_on": "first"}))

    def of(item: int) -> str:
        return " ".join(Orchestrator(hands.engine).run(run_id).why("a", item))

    assert of(1).startswith("'a[1]' is not there yet. 'a' waits for 'first', which is queued")
    hands.work()
    assert of(1) == "'a[1]' waits for event 'paid-2'."
    assert of(2).startswith(
        "'a[2]' waits for its turn: 2 items of 'a' are under way at a time. 'a' waits for its items"
    )
    assert told(hands, run_id).endswith("0 of 3 items have ended. 'a[0]' waits for event 'paid-1'.")
    for name in ("first", "a"):
        with pytest.raises(NotFound, match="has no item 7"):
            Orchestrator(hands.engine).run(run_id).why(name, 7)
    cancel(hands.engine, run_id)
    assert of(1) == "'a[1]' has ended: it is canceled: the run was canceled."


def test_to_one_app_what_other_apps_run_is_not_named(db: Database) -> None:
    hands = Hands(db)
    alive(hands)
    set_pool(hands.engine, "gpu", 1, actor="test")
    other = document(step("theirs", pool="gpu"))
    register(hands.engine, other, app="other", actor="test")
    first = start(hands.engine, "w", options=StartOptions(app="other")).run_id
    held = hands.claim()
    waits = hands.start(document(step("a", pool="gpu"), step("b")))
    for name in ("a", "b"):
        with db.transaction() as conn:
            plan = hands.engine.plans.get(conn, run_now(conn, waits).revision_id)
            said = " ".join(why(conn, plan, waits, name, one_app=True))
            known = " ".join(why(conn, plan, waits, name))
        assert ("a step of another app" in said, "theirs" in said, first in said) == (True, False, False)
        assert "'theirs'" in known
    hands.settle(held[0])


def test_secrets_that_an_error_echoes_are_not_told(db: Database) -> None:
    def leak(**given: Any) -> None:
        raise ValueError(f"cannot use {given}")

    hands = Hands(db, {"leak": leak})
    schema = {"type": "object", "properties": {"key": {"type": "string", "writeOnly": True}}}
    one = step("a", function="leak", input={"key": "{{ input.key }}"}, retry={"max_attempts": 2, "delay": 600})
    run_id = hands.start(document(one, input_schema=schema), {"key": "hunter2222"})
    hands.work()
    said = told(hands, run_id)
    assert "cannot use" in said
    assert "hunter2222" not in said
