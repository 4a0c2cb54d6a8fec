"""Rates of functions: what comes too early waits for its turn without a worker."""

from __future__ import annotations

from sqlalchemy import text

from orchestrator import testing
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.rate import Rate
from orchestrator.functions import make_spec
from orchestrator.services.coordinate import tick
from orchestrator.store import rates
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands, together


def limited(hands: Hands, rate: str) -> list[int]:
    """Give the engine a function `call` of this rate; its calls."""
    calls: list[int] = []
    hands.engine.functions.put(make_spec(lambda: calls.append(1), "call", rate=rate))
    return calls


def test_so_many_calls_come_at_once_and_the_others_wait(db: Database) -> None:
    hands = Hands(db)
    calls = limited(hands, "2/h")
    run_id = hands.start(document(*(step(f"s{i}", function="call") for i in range(4))))
    hands.work()
    steps = hands.steps(run_id)
    assert [row["status"] for row in steps.values()].count("waiting") == 2
    assert (len(calls), hands.status(run_id)) == (2, "running")
    assert all(row["attempts"] == 1 for row in steps.values())


def test_a_step_whose_turn_has_come_is_called_without_another_wait(db: Database) -> None:
    hands = Hands(db)
    calls = limited(hands, "5/s")
    run_id = hands.start(document(*(step(f"s{i}", function="call") for i in range(8))))
    while hands.status(run_id) == "running":
        hands.work()
        tick(hands.engine)
    assert (len(calls), hands.status(run_id)) == (8, "succeeded")


def test_turns_are_spaced_evenly_by_the_clock_of_the_database() -> None:
    with testing.sandbox({}) as box:
        calls: list[int] = []
        box.engine.functions.put(make_spec(lambda: calls.append(1), "call", rate="2/m"))
        run_id = box.start(document(*(step(f"s{i}", function="call") for i in range(5))))
        box.drive(run_id)
        run = box.result(run_id)
    assert (run.status, len(calls), run.duration.total_seconds()) == ("succeeded", 5, 90)


def test_a_lost_attempt_does_not_wait_for_a_second_turn(db: Database) -> None:
    hands = Hands(db)
    calls = limited(hands, "1/h")
    run_id = hands.start(document(step("a", function="call"), step("b", function="call")))
    hands.work()
    assert len(calls) == 1
    with db.transaction() as conn:  # an hour later
        conn.execute(text("UPDATE workflow_run_steps SET wake_at = now() WHERE status = 'waiting'"))
    tick(hands.engine)
    (held,) = hands.claim()
    hands.settle(held, Outcome.lost("it died"))
    hands.work()
    tick(hands.engine)
    hands.work()
    assert (len(calls), hands.status(run_id)) == (2, "succeeded")


def test_reservations_at_the_same_moment_are_each_counted(db: Database) -> None:
    rate, nobody = Rate(1, 3600.0), "00000000-0000-0000-0000-000000000000"

    def reserve() -> list[float]:
        return [rates.reserve(db, "f", rate, nobody) for _ in range(10)]

    waits = sorted(wait for found in together([reserve] * 4) for wait in found)
    assert [round(wait / 3600) for wait in waits] == list(range(40))
