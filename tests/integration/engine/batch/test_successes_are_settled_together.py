"""Several attempts of one worker settled in one statement: the same ends as one by one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.domain.recount import recount
from orchestrator.domain.values import storable
from orchestrator.services.claim import Claimed
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Settings
from orchestrator.services.pause import pause
from orchestrator.services.settle_all import Done, SettledAll, settle_all
from orchestrator.store import batch, steps
from orchestrator.store.batch import Take
from orchestrator.store.db import Database
from orchestrator.store.logs import LogLine
from tests.documents import Document, document, on, step
from tests.hands import LEASE, Hands
from tests.support import wait_for
from tests.watching import blocked

FAILURE = Outcome.failed(ErrorInfo("ValueError", "no", classes=("ValueError",)), final=True)
DIAMOND = document(
    step("a"), step("b", depends_on=["a"]), step("c", depends_on=["a"]), step("d", depends_on=["b", "c"])
)


@pytest.fixture
def hands(db: Database) -> Hands:
    return Hands(db)


def done(claimed: Sequence[Claimed], outcome: Outcome | None = None) -> list[Done]:
    return [Done(one, outcome or Outcome.succeeded({"n": i}, f'{{"n":{i}}}'), "{}") for i, one in enumerate(claimed)]


def settle(hands: Hands, settled: Sequence[Done], take: Take | None = None) -> SettledAll:
    return settle_all(hands.engine, settled, take)


def name_of(hands: Hands, claimed: Claimed) -> str:
    site = hands.engine.site(claimed.revision_id, claimed.position)
    assert site is not None
    return site.step.name


def work(hands: Hands) -> None:
    """Perform everything that waits, all that waits at a time settled together."""
    while claimed := hands.claim():
        dispatch(hands.engine, settle(hands, done(claimed)).queues)


def in_one_statement(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many attempts each call settled in the one statement."""
    calls: list[int] = []
    real = batch.settle_plain

    def counted(db: Database, successes: Sequence[Any], *rest: Any) -> Any:
        calls.append(len(successes))
        return real(db, successes, *rest)

    monkeypatch.setattr(batch, "settle_plain", counted)
    return calls


def statuses(hands: Hands, run_id: str) -> dict[str, str]:
    return {name: row["status"] for name, row in hands.steps(run_id).items()}


def tallies_are_right(hands: Hands, run_id: str) -> bool:
    with hands.db.transaction() as conn:
        revision = conn.execute(
            text("SELECT revision_id FROM workflow_runs WHERE id = :id"), {"id": run_id}
        ).scalar_one()
        plan = hands.engine.plans.get(conn, revision)
        rows = steps.lock_all_steps(conn, run_id, len(plan.steps))
    counted = recount(plan, {p: row.status for p, row in rows.items()}, {p: row.edge_truth for p, row in rows.items()})
    return {p: row.tally for p, row in rows.items()} == {p: tally for p, (tally, _) in counted.items()}


def test_runs_of_several_workflows_end_as_they_should(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = in_one_statement(monkeypatch)
    runs = [hands.start(DIAMOND) for _ in range(3)] + [hands.start(document(step("x"), step("y", depends_on=["x"])))]
    work(hands)
    assert [hands.status(run) for run in runs] == ["succeeded"] * 4
    assert calls == [4, 3 * 2 + 1, 3]
    for run in runs:
        assert set(statuses(hands, run).values()) == {"succeeded"}
        assert tallies_are_right(hands, run)
        assert all(len(row["history"]) == 1 for row in hands.steps(run).values())
        assert hands.events(run) == ["run.started", "run.succeeded"]


def test_the_output_of_a_run_is_that_of_its_leaves(hands: Hands) -> None:
    fan = document(step("a"), step('é "b"', depends_on=["a"]), step("c\\d", depends_on=["a"]))
    run = hands.start(fan)
    work(hands)
    with hands.db.transaction() as conn:
        row = conn.execute(text("SELECT output::text, output FROM workflow_runs WHERE id = :id"), {"id": run}).one()
    assert row[0] == '{"é \\"b\\"":{"n":0},"c\\\\d":{"n":1}}'


def test_an_attempt_whose_claim_is_lost_changes_nothing_and_the_others_are_stored(hands: Hands) -> None:
    runs = [hands.start(DIAMOND) for _ in range(2)]
    mine, lost = hands.claim()
    with hands.db.transaction() as conn:
        conn.execute(
            text("UPDATE workflow_run_steps SET claim_token = gen_random_uuid() WHERE id = :id"), {"id": lost.step_id}
        )
    settled = settle(hands, done([mine, lost]))
    assert settled.stale == {lost.step_id}
    found = [statuses(hands, run)["a"] for run in runs]
    assert sorted(found) == ["running", "succeeded"]
    assert [statuses(hands, run)["b"] for run in runs] == ["ready" if s == "succeeded" else "pending" for s in found]


def test_settling_twice_changes_nothing(hands: Hands) -> None:
    run = hands.start(DIAMOND)
    (a,) = hands.claim()
    settle(hands, done([a]))
    before = hands.steps(run)
    assert settle(hands, done([a])).stale == {a.step_id}
    assert hands.steps(run) == before


@pytest.mark.parametrize("sources", [(), ("a", "b")], ids=["leaves", "with a dependant"])
def test_rows_are_locked_in_the_one_order_whatever_the_order_of_the_batch(
    hands: Hands, sources: tuple[str, ...]
) -> None:
    """While the batch waits for the first row of the order it holds none of the others."""
    hands.start(document(step("a"), step("b"), *([step("c", *sources)] if sources else [])))
    claimed = sorted(hands.claim(), key=lambda one: -one.position)
    row = text("SELECT FROM workflow_run_steps WHERE position = :position FOR UPDATE NOWAIT")
    with ThreadPoolExecutor(1) as pool:
        with hands.db.transaction() as conn:
            conn.execute(row, {"position": 0})
            settling = pool.submit(settle, hands, done(claimed))
            wait_for(lambda: blocked(hands.db), what="the batch waits for a row")
            conn.execute(row, {"position": 1})
        assert settling.result(30).stale == frozenset()


def test_a_dependant_that_has_met_a_failure_is_decided_by_the_rules(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = hands.start(document(step("a"), step("b"), step("c", depends_on=["a", "b"]), step("d", depends_on=["b"])))
    by_name = {name_of(hands, c): c for c in hands.claim()}
    settle(hands, done([by_name["a"]], FAILURE))
    calls = in_one_statement(monkeypatch)
    dispatch(hands.engine, settle(hands, done([by_name["b"]])).queues)
    assert calls == [1]
    assert statuses(hands, run) == {"a": "failed", "b": "succeeded", "c": "upstream_failed", "d": "queued"}
    assert tallies_are_right(hands, run)


def test_a_run_with_a_failure_that_was_handled_ends_by_the_rules(hands: Hands) -> None:
    run = hands.start(document(step("a", on_error="ignore"), step("b", depends_on=[on("a", "complete")]), step("c")))
    other = hands.start(document(step("x")))
    while claimed := hands.claim():
        failing = [c for c in claimed if name_of(hands, c) == "a"]
        settled = done(failing, FAILURE) + done([c for c in claimed if c not in failing])
        dispatch(hands.engine, settle(hands, settled).queues)
    assert (hands.status(run), hands.status(other)) == ("succeeded", "succeeded")
    assert statuses(hands, run) == {"a": "failed", "b": "succeeded", "c": "succeeded"}


def test_a_run_whose_output_is_too_large_fails_saying_so(db: Database) -> None:
    hands = Hands(db, settings=Settings(max_output_bytes=100))
    run = hands.start(document(step("a"), step("b")))
    large = Outcome.succeeded("x" * 60, f'"{"x" * 60}"')
    settle(hands, done(hands.claim(), large))
    with db.transaction() as conn:
        error = conn.execute(text("SELECT error FROM workflow_runs WHERE id = :id"), {"id": run}).scalar_one()
    assert hands.status(run) == "failed"
    assert error["type"] == "OutputError"


def test_a_paused_run_does_not_end_until_it_is_resumed(hands: Hands) -> None:
    run = hands.start(document(step("a")))
    claimed = hands.claim()
    pause(hands.engine, run)
    settle(hands, done(claimed))
    assert (hands.status(run), statuses(hands, run)) == ("paused", {"a": "succeeded"})


@pytest.mark.parametrize(
    "message", ['say "yes"', "back\\slash", "NULL", "{a,b}", "two\nlines", "", "ünïcödé 🎉", "100%", "it's"]
)
def test_lines_outputs_and_inputs_are_stored_as_they_are(hands: Hands, message: str) -> None:
    run = hands.start(document(step("a")))
    (a,) = hands.claim()
    at = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    outcome = Outcome.succeeded(*storable({message: message}, max_bytes=1000))
    settle(hands, [Done(a, outcome, outcome.output_json, [LogLine(at, "stdout", "INFO", message)])])
    found = hands.steps(run)["a"]
    assert (found["output"], found["input"]) == ({message: message}, {message: message})
    with hands.db.transaction() as conn:
        line = conn.execute(text("SELECT at, stream, level, message, attempt FROM step_logs")).one()
    assert tuple(line) == (at, "stdout", "INFO", message, 1)


def test_the_lines_of_an_attempt_whose_claim_is_lost_are_dropped(hands: Hands) -> None:
    hands.start(document(step("a")))
    (a,) = hands.claim()
    line = LogLine(datetime.now(UTC), "stdout", "INFO", "late")
    one = Done(a, Outcome.succeeded(1, "1"), None, [line])
    settle(hands, [one])
    settle(hands, [one])
    with hands.db.transaction() as conn:
        assert conn.execute(text("SELECT count(*) FROM step_logs")).scalar_one() == 1


def test_times_are_those_of_the_call_and_not_of_the_batch(hands: Hands) -> None:
    run = hands.start(document(step("a")))
    (a,) = hands.claim()
    with hands.db.transaction() as conn:
        conn.execute(text("UPDATE workflow_run_steps SET started_at = now() - interval '1 minute'"))
    settle(hands, [Done(a, Outcome.succeeded(1, "1"), took=3.0, ended=time.monotonic() - 1)])
    row = hands.steps(run)["a"]
    (attempt,) = row["history"]
    assert abs(row["finished_at"] - row["started_at"] - timedelta(seconds=3)) < timedelta(milliseconds=1)
    assert datetime.fromisoformat(attempt["started_at"]) == row["started_at"]
    with hands.db.transaction() as conn:
        assert conn.execute(text("SELECT now() - finished_at >= interval '1 second' FROM workflow_run_steps")).scalar()


# What the worker goes on with.


def take(room: int = 10, functions: Sequence[str] = ("ok",), *, anything: bool = False, queue: str = "default") -> Take:
    return Take(LEASE, queue, room, functions, anything)


def taken(hands: Hands, settled: SettledAll) -> list[str]:
    return [name_of(hands, claimed) for claimed in settled.next]


def three_after_a(**keys: Any) -> Document:
    return document(step("a"), *(step(name, depends_on=["a"], **keys) for name in ("b", "c", "d")))


@pytest.mark.parametrize(("room", "count"), [(0, 0), (1, 1), (2, 2), (10, 3)])
def test_as_many_as_there_is_room_for_are_taken(hands: Hands, room: int, count: int) -> None:
    run = hands.start(three_after_a())
    settled = settle(hands, done(hands.claim()), take(room))
    assert len(settled.next) == count
    found = list(statuses(hands, run).values())
    assert (found.count("running"), found.count("ready")) == (count, 3 - count)
    assert settled.queues == ({"default"} if count < 3 else set())
    assert all(c.attempt == 1 for c in settled.next)
    assert settle(hands, done(settled.next)).stale == frozenset()


def test_a_step_of_another_function_is_taken_only_by_a_worker_with_nothing_in_hand(hands: Hands) -> None:
    hands.start(three_after_a())
    (a,) = hands.claim()
    assert settle(hands, done([a]), take(functions=["other"])).next == ()


def test_one_step_of_any_function_is_taken_when_nothing_is_in_hand(hands: Hands) -> None:
    hands.start(three_after_a())
    assert len(settle(hands, done(hands.claim()), take(functions=["other"], anything=True)).next) == 1


def test_a_step_for_another_queue_is_left_to_its_workers(hands: Hands) -> None:
    hands.start(three_after_a(queue="gpu"))
    settled = settle(hands, done(hands.claim()), take(anything=True))
    assert (settled.next, settled.queues) == ((), {"gpu"})


def test_nothing_of_a_paused_run_is_taken(hands: Hands) -> None:
    run = hands.start(three_after_a())
    claimed = hands.claim()
    pause(hands.engine, run)
    assert settle(hands, done(claimed), take(anything=True)).next == ()


def test_nothing_is_taken_of_a_run_that_was_stopped_while_the_dependant_was_waited_for(hands: Hands) -> None:
    ends = [on("a", "complete"), on("b", "complete")]
    run = hands.start(document(step("a"), step("b"), step("c", depends_on=ends), failure_mode="drain"))
    (a,) = [one for one in hands.claim() if name_of(hands, one) == "a"]
    with ThreadPoolExecutor(1) as pool, hands.db.transaction() as conn:
        # As `b` does when it fails: its dependant is told, and the halt noted, in one transaction.
        told = "UPDATE workflow_run_steps SET satisfied_sources = 1, remaining_sources = 1 WHERE run_id = :id"
        conn.execute(text(f"{told} AND name = 'c'"), {"id": run})
        conn.execute(text("UPDATE workflow_runs SET halting = 'drain' WHERE id = :id"), {"id": run})
        settled = pool.submit(settle, hands, done([a]), take(anything=True))
        wait_for(lambda: blocked(hands.db))
        conn.commit()
        assert (settled.result(30).next, settled.result(30).queues) == ((), {"default"})


@pytest.mark.parametrize("keys", [{"publish": {"v": 1}}, {}], ids=["by the rules", "in one statement"])
def test_a_step_that_ends_by_the_rules_takes_one_too(hands: Hands, keys: dict[str, Any]) -> None:
    hands.start(document(step("a", **keys), step("b", depends_on=["a"])))
    assert taken(hands, settle(hands, done(hands.claim()), take(anything=True))) == ["b"]
