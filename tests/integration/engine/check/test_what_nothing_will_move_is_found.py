"""`orchestrator db check`: each fault is planted in the rows and found, and nothing is found in what is sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.check_words import KINDS
from orchestrator.services.check import Patience, Report, check
from orchestrator.services.coordinate import tick
from orchestrator.services.pause import pause
from orchestrator.services.pools import set_pool
from orchestrator.services.register import register
from orchestrator.services.signal import signal
from orchestrator.services.start import start
from orchestrator.store.db import Database
from tests.coding import Coders
from tests.documents import document, step
from tests.families import below, only_child
from tests.hands import Hands
from tests.integration.engine.check import of_schedules

AT_ONCE = Patience(seconds=0.0, grace=0.0)


@pytest.fixture
def hands(module_db: Database) -> Iterator[Hands]:
    made = Hands(module_db)
    yield made
    with module_db.transaction() as conn:
        for table in ("workflow_runs", "workflow_step_attempts", "pools", "workers", "schedules"):
            conn.exec_driver_sql(f"DELETE FROM {table}")


def look(hands: Hands, *, processes: bool = False) -> Report:
    return check(hands.db, AT_ONCE, processes=processes, sleep=lambda seconds: None)


def change(hands: Hands, sql: str, **values: Any) -> None:
    with hands.db.transaction() as conn:
        assert conn.execute(text(sql), values).rowcount


def step_is(hands: Hands, run_id: str, changes: str, name: str = "a", also: str = "") -> None:
    """Plant a change of a step's row."""
    statement = f"UPDATE workflow_run_steps SET {changes} WHERE run_id = :run AND name = :name {also}"
    change(hands, statement, run=run_id, name=name)


def run_is(hands: Hands, run_id: str, changes: str) -> None:
    change(hands, f"UPDATE workflow_runs SET {changes} WHERE id = :run", run=run_id)


# Sound beginnings.


def chain(hands: Hands) -> str:
    return hands.start(document(step("a"), step("b", "a"), timeout=3600))


def running(hands: Hands) -> str:
    run_id = chain(hands)
    hands.claim()
    return run_id


def waiting(hands: Hands, **wait: Any) -> str:
    run_id = hands.start(document({"name": "a", **wait}, step("b", "a")))
    (claimed,) = hands.claim()
    hands.settle(claimed)
    return run_id


def sleeping(hands: Hands) -> str:
    return waiting(hands, sleep=3600)


def for_event(hands: Hands) -> str:
    return waiting(hands, wait_for={"event": "e"})


def items(hands: Hands, **asked: Any) -> str:
    """A step whose three items wait for workers, one at a time."""
    fan = step("a", with_items={"items": [1, 2, 3], "concurrency": 1, **asked}, input={"x": "{{ item }}"})
    run_id = hands.start(document(fan))
    (claimed,) = hands.claim()
    hands.settle(claimed)
    return run_id


def parent(hands: Hands) -> str:
    register(hands.engine, document(step("leaf"), name="lower"), actor="test")
    run_id = hands.start(document(below("a", "lower"), name="upper"))
    (claimed,) = hands.claim()
    hands.settle(claimed)
    return run_id


def limited(hands: Hands) -> str:
    """The second of two runs of which one at a time may be active."""
    register(hands.engine, document(step("a"), name="one", max_active_runs=1), actor="test")
    start(hands.engine, "one")
    return start(hands.engine, "one").run_id


def pooled(hands: Hands) -> str:
    set_pool(hands.engine, "p", 1, actor="test")
    return hands.start(document(step("a", pool="p"), step("b", pool="p")))


def code(ctx: Any, input: Any) -> Any:
    """Calls three functions one at a time, and waits for them."""
    return ctx.map("ok", [{"x": 1}, {"x": 2}, {"x": 3}], concurrency=1)


def coded(hands: Hands) -> str:
    """A function that waits for what it has begun."""
    coders = Coders(hands.db)
    run_id = coders.begin(code, name="coded")
    coders.settle(*coders.claim())
    assert coders.statuses(run_id)["driver"] == "waiting"
    return run_id


AGO = "orchestrator_now() - interval '1 minute'"
ENDED = "finished_at = orchestrator_now(), claim_token = NULL, lease_expires_at = NULL"
OWNER, ITEMS = "AND item_of IS NULL", "AND item_of IS NOT NULL"
Plant = Callable[[Hands], Any]


def plant(begin: Callable[[Hands], str], changes: str, name: str = "a", also: str = "") -> Plant:
    return lambda hands: step_is(hands, begin(hands), changes, name, also)


def plant_run(begin: Callable[[Hands], str], changes: str) -> Plant:
    return lambda hands: run_is(hands, begin(hands), changes)


def without_child(hands: Hands) -> None:
    run_id = parent(hands)
    change(hands, "DELETE FROM workflow_runs WHERE id = :id", id=only_child(hands, run_id))


def forgotten_child(hands: Hands) -> None:
    run_is(hands, only_child(hands, parent(hands)), "parent_waits = false")


def orphan(hands: Hands) -> None:
    step_is(hands, parent(hands), f"status = 'canceled', reason = 'canceled', wake_at = NULL, {ENDED}")
    change(hands, "UPDATE workflow_runs SET status = 'canceled', final_status = 'canceled', finished_at = now()"
           " WHERE parent_run_id IS NULL")  # fmt: skip


def untold(hands: Hands) -> None:
    child = only_child(hands, parent(hands))
    done = "status = 'succeeded', final_status = 'succeeded', finished_at = orchestrator_now()"
    step_is(hands, child, f"status = 'succeeded', {ENDED}, queued_at = NULL", "leaf")
    run_is(hands, child, done)


def kept_event(hands: Hands) -> None:
    change(hands, "INSERT INTO workflow_signals (run_id, name, payload, actor) VALUES (:run, 'e', '1', 'x')",
           run=for_event(hands))  # fmt: skip


def paused(hands: Hands) -> None:
    run_id = chain(hands)
    pause(hands.engine, run_id)
    step_is(hands, run_id, f"status = 'queued', queued_at = {AGO}, claim_token = gen_random_uuid()")


def too_many(hands: Hands) -> None:
    run_id = pooled(hands)
    change(hands, "UPDATE pools SET changed_at = :ago", ago="2000-01-01T00:00:00Z")
    step_is(hands, run_id, "status = 'queued', queued_at = orchestrator_now(), claim_token = gen_random_uuid()", "b")


def missing_step(hands: Hands) -> None:
    run_id = hands.start(document(step("a"), step("b")))
    change(hands, "DELETE FROM workflow_run_steps WHERE run_id = :run AND name = 'b'", run=run_id)


def nothing_open(hands: Hands) -> None:
    run_id = hands.start(document(step("a")))
    step_is(hands, run_id, f"status = 'succeeded', {ENDED}, queued_at = NULL")


def skipped_turn(hands: Hands) -> None:
    limited(hands)
    done = "status = 'canceled', reason = 'canceled', finished_at = orchestrator_now(), claim_token = NULL"
    change(hands, f"UPDATE workflow_run_steps SET {done} WHERE status = 'queued'")
    change(hands, "UPDATE workflow_runs SET status = 'canceled', final_status = 'canceled', finished_at = now()"
           " WHERE status = 'running'")  # fmt: skip


def ended_owner(hands: Hands) -> None:
    change(hands, f"UPDATE workflow_run_steps SET status = 'succeeded', {ENDED}, wake_at = NULL WHERE run_id = :run"
           f" {OWNER}", run=items(hands))  # fmt: skip


def standing_still(hands: Hands) -> None:
    run_id = items(hands)
    step_is(hands, run_id, "status = 'pending', claim_token = NULL, queued_at = NULL", "a", f"{ITEMS} AND item_index=0")


def idle_calls(hands: Hands) -> None:
    idle = "status = 'pending', claim_token = NULL, queued_at = NULL"
    changed = f"UPDATE workflow_run_steps SET {idle} WHERE run_id = :run AND position > 0"
    change(hands, changed, run=coded(hands))


PLANTED: dict[str, Plant] = {
    "open_in_ended_run": plant_run(chain, "status = 'succeeded', final_status = 'succeeded', finished_at = now()"),
    "not_decided": plant(running, "remaining_sources = 0, satisfied_sources = 1", "b"),
    "item_of_ended_step": ended_owner,
    "item_not_begun": plant(items, "items_free = 1", "a", OWNER),
    "held_by_nobody": plant(running, "worker_id = NULL"),
    "event_not_taken": kept_event,
    "child_gone": without_child,
    "child_will_not_tell": forgotten_child,
    "items_have_ended": plant(items, "items_open = 0", "a", OWNER),
    "items_not_made": plant(items, "items_total = 4", "a", OWNER),
    "never_woken": plant(sleeping, "wake_at = NULL"),
    "history_incomplete": plant(running, "attempt = 3"),
    "items_miscounted": plant(items, "items_failed = 1", "a", OWNER),
    "items_stand_still": standing_still,
    "calls_have_ended": plant(coded, "items_spared = 3", "driver"),
    "calls_miscounted": plant(coded, "items_open = 2", "driver"),
    "calls_stand_still": idle_calls,
    "sources_miscounted": plant(running, "source_count = 3, remaining_sources = 2", "b"),
    "retry_overdue": plant(chain, f"status = 'ready', claim_token = NULL, next_attempt_at = {AGO}"),
    "wake_overdue": plant(sleeping, f"wake_at = {AGO}"),
    "lease_overdue": plant(running, f"lease_expires_at = {AGO}"),
    "timeout_overdue": plant(running, f"attempt_deadline_at = {AGO}"),
    "total_timeout_overdue": plant(chain, f"total_deadline_at = {AGO}"),
    "sent_while_paused": paused,
    "items_not_stopped": plant(items, "items_stop = 'fail_fast'", "a", OWNER),
    "not_sent": plant(chain, f"status = 'ready', claim_token = NULL, ready_at = {AGO}"),
    "pool_missing": lambda hands: change(hands, "DELETE FROM pools WHERE :made", made=bool(pooled(hands))),
    "pool_too_small": plant(pooled, "slots = 2", "b"),
    "never_begins": plant_run(limited, "limit_key = NULL"),
    "not_ended": nothing_open,
    "steps_missing": missing_step,
    "halt_not_carried_out": plant_run(running, "halting = 'deadline'"),
    "turn_not_given": skipped_turn,
    "deadline_overdue": plant_run(running, f"deadline_at = {AGO}"),
    "end_not_told": untold,
    "child_not_followed": orphan,
    "pool_over": too_many,
    "no_worker": chain,
    "no_coordinator": running,
    **of_schedules.PLANTED,
}
PROCESSES = {"no_worker", "no_coordinator"}


def test_every_kind_of_finding_is_planted() -> None:
    """What is missing in a blob store is planted in the tests of that."""
    assert PLANTED.keys() | {"blob_missing"} == KINDS.keys()


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_fault_is_found(hands: Hands, kind: str) -> None:
    PLANTED[kind](hands)
    report = look(hands, processes=kind in PROCESSES)
    assert kind in report.counts
    found = next(finding for finding in report.findings if finding.kind == kind)
    assert found.what
    assert found.todo
    assert not report.healthy


BEGINNINGS = [chain, running, sleeping, for_event, items, parent, limited, pooled, coded, of_schedules.scheduled]


@pytest.mark.parametrize("begin", BEGINNINGS)
def test_nothing_is_found_in_what_is_sound(hands: Hands, begin: Callable[[Hands], str]) -> None:
    begin(hands)
    report = look(hands)
    assert (report.counts, report.findings) == ({}, [])
    assert report.runs >= 1
    assert report.steps >= 1


def test_what_the_coordinator_has_come_to_by_the_second_look_is_not_found(hands: Hands) -> None:
    """A retry that is due, an event that has come, a halt that was just noted."""
    PLANTED["retry_overdue"](hands)
    PLANTED["wake_overdue"](hands)
    PLANTED["end_not_told"](hands)
    PLANTED["halt_not_carried_out"](hands)
    assert check(hands.db, AT_ONCE, processes=False, sleep=lambda seconds: tick(hands.engine)).counts == {}


def test_more_findings_than_are_asked_for_are_counted(hands: Hands) -> None:
    for _ in range(3):
        PLANTED["never_woken"](hands)
    report = check(hands.db, AT_ONCE, most=2, processes=False)
    assert (report.counts, len(report.findings)) == ({"never_woken": 3}, 2)


def test_portions_leave_nothing_out(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.services.check.PORTION", 2)
    monkeypatch.setattr("orchestrator.services.check._RUNS", 2)
    for _ in range(5):
        PLANTED["never_woken"](hands)
    runs = [running(hands) for _ in range(5)]
    step_is(hands, runs[3], "source_count = 3, remaining_sources = 2", "b")
    report = look(hands)
    assert report.counts == {"never_woken": 5, "sources_miscounted": 1}
    assert (report.runs, report.steps) == (10, 20)


def test_an_event_that_was_sent_in_order_is_no_finding(hands: Hands) -> None:
    run_id = for_event(hands)
    signal(hands.engine, run_id, "e", 1)
    signal(hands.engine, run_id, "e", 2)
    assert look(hands).healthy
