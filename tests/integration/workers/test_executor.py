"""Running messages in this process, where the store can be made to fail."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.blobstore import FileStore
from orchestrator.errors import BlobsAway, Locked, Troubled, Unreachable
from orchestrator.functions import load_modules
from orchestrator.ids import new_token
from orchestrator.services.blobs import Blobs
from orchestrator.services.engine import Engine, Settings
from orchestrator.services.register import register
from orchestrator.services.settle_all import SettledAll
from orchestrator.services.start import start
from orchestrator.store import outcomes
from orchestrator.store.db import Database
from orchestrator.store.transition import Lease, Queued
from workers import executor
from workers.appetite import Appetite
from workers.board import LocalBoard
from workers.durations import Durations
from workers.executor import Desk, run_message
from workers.limits import Fences
from workers.live import Reporter


class Sent:
    """A transport that keeps what it is given."""

    sends = True

    def __init__(self) -> None:
        self.waiting: list[Queued] = []

    def send(self, queue: str, queued: Any) -> None:
        self.waiting.extend(queued)

    def depth(self, queue: str) -> int | None:
        return len(self.waiting)


@pytest.fixture
def sent() -> Sent:
    return Sent()


@pytest.fixture
def desk(db: Database, sent: Sent) -> Iterator[Desk]:
    registry = load_modules(["tests.integration.workers.steps"])
    board = LocalBoard()
    yield Desk(
        Engine(db, registry, sent, Settings()), Lease("here", 15), board, Fences(board), Reporter(), 60, alone=True
    )
    assert board.running() == []


def begin(desk: Desk, *steps: dict[str, Any]) -> str:
    name = f"w-{new_token()}"
    register(desk.engine, {"name": name, "steps": list(steps)})
    return start(desk.engine, name).run_id


def work(desk: Desk, sent: Sent) -> None:
    """Run what waits, and what follows from it."""
    while sent.waiting:
        queued = sent.waiting.pop(0)
        run_message(desk, [[queued.step_id, queued.token]])


def statuses(desk: Desk, run_id: str) -> dict[str, str]:
    with desk.engine.db.transaction() as conn:
        return {step["name"]: step["status"] for step in outcomes.load_steps(conn, run_id)}


ADD = {"name": "a", "function": "t.add", "input": {"a": 1}}
NEXT = {"name": "b", "function": "t.add", "input": {"a": "{{ steps.a.output }}"}, "depends_on": ["a"]}


def failing(monkeypatch: pytest.MonkeyPatch, verb: str, given: Sequence[BaseException]) -> list[Any]:
    """Let a verb of the engine raise these errors before it works; its calls."""
    calls: list[Any] = []
    errors = list(given)
    real = getattr(executor, verb)

    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        if errors:
            raise errors.pop(0)
        return real(*args, **kwargs)

    monkeypatch.setattr(executor, verb, call)
    return calls


def test_a_chain_goes_on_in_one_message(desk: Desk, sent: Sent) -> None:
    run_id = begin(desk, ADD, NEXT)
    (queued,) = sent.waiting
    sent.waiting.clear()
    run_message(desk, [[queued.step_id, queued.token]])
    assert statuses(desk, run_id) == {"a": "succeeded", "b": "succeeded"}
    assert sent.waiting == []


def test_an_outcome_is_stored_when_postgres_is_back(desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = failing(monkeypatch, "settle_all", [Unreachable("away"), Unreachable("away")])
    run_id = begin(desk, ADD, NEXT)
    work(desk, sent)
    assert statuses(desk, run_id) == {"a": "succeeded", "b": "succeeded"}
    assert len(calls) == 2 + 2


@pytest.mark.parametrize("trouble", [Troubled("canceling statement due to statement timeout"), Locked("by somebody")])
def test_an_outcome_is_stored_however_often_postgres_cannot_do_it(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    """More often than a fault of the outcome's own is tried."""
    monkeypatch.setattr(executor, "tries", lambda seconds: iter([False] * 9 + [True]))
    calls = failing(monkeypatch, "settle_all", [trouble] * 6)
    run_id = begin(desk, ADD)
    work(desk, sent)
    assert statuses(desk, run_id) == {"a": "succeeded"}
    assert len(calls) == 7


def test_an_input_is_made_when_postgres_is_back(desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "perform", [Unreachable("away")])
    run_id = begin(desk, ADD)
    work(desk, sent)
    assert statuses(desk, run_id) == {"a": "succeeded"}


def test_a_message_that_cannot_be_claimed_is_left_to_be_sent_again(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "claim", [Unreachable("away")])
    run_id = begin(desk, ADD)
    work(desk, sent)
    assert statuses(desk, run_id) == {"a": "queued"}


def test_an_attempt_is_left_to_its_lease_when_postgres_stays_away(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "tries", lambda seconds: iter([False, True]))
    failing(monkeypatch, "settle_all", [Unreachable("away"), Unreachable("away")])
    run_id = begin(desk, ADD)
    work(desk, sent)
    assert statuses(desk, run_id) == {"a": "running"}


@pytest.mark.parametrize("verb", ["put_away", "perform"])
def test_a_blob_store_that_stays_away_fails_the_attempt_which_is_retried(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str
) -> None:
    """As it takes no output, or gives nothing to make an input of."""
    monkeypatch.setattr(executor, "tries", lambda seconds: iter([False, True]))
    blobs = Blobs(FileStore(tmp_path.as_uri()), 100, 10_000, 1000)
    desk = replace(desk, engine=replace(desk.engine, blobs=blobs))
    calls = failing(monkeypatch, verb, [BlobsAway("no room"), BlobsAway("no room")])
    run_id = begin(desk, ADD | {"retry": {"max_attempts": 2, "retry_on": ["BlobsAway"]}})
    work(desk, sent)
    with desk.engine.db.transaction() as conn:
        (step,) = outcomes.load_steps(conn, run_id)
    assert [(one["outcome"], (one["error"] or {}).get("type")) for one in step["history"]] == [
        ("failed", "BlobsAway"),
        ("succeeded", None),
    ]
    assert len(calls) == 3


def test_an_outcome_that_cannot_be_stored_fails_the_step_saying_why(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "settle_all", [ValueError("this row is refused")] * 3)
    run_id = begin(desk, ADD)
    work(desk, sent)
    with desk.engine.db.transaction() as conn:
        (step,) = outcomes.load_steps(conn, run_id)
    assert (step["status"], step["error"]["type"]) == ("failed", "InternalError")
    assert "this row is refused" in step["error"]["message"]


def test_a_step_that_cannot_be_prepared_for_a_fault_of_ours_fails_saying_so(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "perform", [TypeError("a bug")])
    run_id = begin(desk, ADD)
    work(desk, sent)
    with desk.engine.db.transaction() as conn:
        (step,) = outcomes.load_steps(conn, run_id)
    assert (step["status"], step["error"]["type"]) == ("failed", "InternalError")


def test_a_fault_in_dispatching_does_not_drop_the_step_at_hand(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = begin(desk, ADD, NEXT, NEXT | {"name": "c"})
    failing(monkeypatch, "dispatch", [ValueError("a bug"), Unreachable("away")])
    work(desk, sent)
    assert statuses(desk, run_id) == dict.fromkeys("abc", "succeeded")


def test_a_late_outcome_is_dropped(desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    stale: list[int] = []
    real = executor.settle_all

    def settle_all(engine: Engine, *args: Any) -> SettledAll:
        with engine.db.transaction() as conn:
            taken = "UPDATE workflow_run_steps SET claim_token = gen_random_uuid() WHERE status = 'running'"
            conn.exec_driver_sql(taken)
        settled = real(engine, *args)
        stale.append(len(settled.stale))
        return settled

    monkeypatch.setattr(executor, "settle_all", settle_all)
    run_id = begin(desk, ADD, NEXT)
    work(desk, sent)
    assert stale == [1]
    assert statuses(desk, run_id) == {"a": "running", "b": "pending"}


def test_ctrl_c_raised_by_a_function_fails_its_attempt(desk: Desk, sent: Sent) -> None:
    run_id = begin(desk, {"name": "a", "function": "t.end", "input": {"how": "ctrl-c"}}, ADD | {"name": "b"})
    work(desk, sent)
    with desk.engine.db.transaction() as conn:
        failed, other = outcomes.load_steps(conn, run_id)
    assert (failed["status"], failed["error"]["type"]) == ("failed", "KeyboardInterrupt")
    assert other["status"] == "succeeded"


def test_ctrl_c_that_comes_as_an_attempt_is_prepared_ends_the_attempt_and_not_the_worker(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, "perform", [KeyboardInterrupt()])
    run_id = begin(desk, ADD)
    work(desk, sent)
    assert statuses(desk, run_id) == {"a": "failed"}


class _Unprintable(Exception):
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no")

    @__class__.setter
    def __class__(self, value: Any) -> None: ...


def test_a_fault_that_cannot_even_be_logged_fails_the_step(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(record: logging.LogRecord) -> bool:
        raise OSError("the log is full")

    failing(monkeypatch, "perform", [_Unprintable("a bug")])
    monkeypatch.setattr(executor.log, "handle", refuse)
    run_id = begin(desk, ADD)
    work(desk, sent)
    assert statuses(desk, run_id) == {"a": "failed"}


def count(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many outcomes each call of the engine settled."""
    calls: list[int] = []
    real = executor.settle_all

    def settle_all(engine: Engine, done: Any, *args: Any) -> SettledAll:
        calls.append(len(done))
        return real(engine, done, *args)

    monkeypatch.setattr(executor, "settle_all", settle_all)
    return calls


def known_as_short(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """`t.add`, however long its calls take here."""
    desk.durations.note("t.add", 0.0, repeatable=True)
    monkeypatch.setattr(Durations, "note", lambda *_, **__: None)


def test_one_message_does_all_that_is_ready_and_settles_it_in_a_few_statements(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_as_short(desk, monkeypatch)
    run_id = begin(desk, *(ADD | {"name": f"s{i}"} for i in range(150)))
    first = sent.waiting[0]
    calls = count(monkeypatch)
    monkeypatch.setattr(executor, "GROUP_SECONDS", 60.0)
    run_message(desk, [[first.step_id, first.token]])
    found = list(statuses(desk, run_id).values())
    assert found.count("succeeded") == 51  # all but those that were sent to others
    assert sum(calls) == 51
    assert len(calls) < 51


def test_steps_of_a_function_that_is_not_known_are_settled_one_by_one(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(desk, *(ADD | {"name": f"s{i}", "on_lost": "fail"} for i in range(102)))
    first = sent.waiting[0]
    calls = count(monkeypatch)
    run_message(desk, [[first.step_id, first.token]])
    assert calls == [1, 1, 1]


def test_results_that_wait_behind_a_slow_call_are_stored_by_the_reporter(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "LATE_SECONDS", 0.0)
    monkeypatch.setattr(executor, "GROUP_SECONDS", 60.0)
    known_as_short(desk, monkeypatch)
    run_id = begin(desk, *(ADD | {"name": f"s{i}"} for i in range(103)))
    seen: list[int] = []
    real = executor.perform

    def perform(*args: Any, **options: Any) -> Any:
        for shown in list(desk.reporter._attempts.values()):
            shown.show()
        seen.append(list(statuses(desk, run_id).values()).count("succeeded"))
        return real(*args, **options)

    monkeypatch.setattr(executor, "perform", perform)
    first = sent.waiting[0]
    run_message(desk, [[first.step_id, first.token]])
    assert seen == [0, 1, 2, 3]
    assert list(statuses(desk, run_id).values()).count("succeeded") == 4


def test_one_outcome_that_cannot_be_stored_does_not_harm_the_others(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_as_short(desk, monkeypatch)
    monkeypatch.setattr(executor, "GROUP_SECONDS", 60.0)
    run_id = begin(desk, *(ADD | {"name": f"s{i}"} for i in range(103)))
    real = executor.settle_all

    def settle_all(engine: Engine, done: Any, *args: Any) -> SettledAll:
        if len(done) > 1:
            raise ValueError("one of these is refused")
        return real(engine, done, *args)

    monkeypatch.setattr(executor, "settle_all", settle_all)
    first = sent.waiting[0]
    run_message(desk, [[first.step_id, first.token]])
    assert list(statuses(desk, run_id).values()).count("succeeded") == 4


def test_only_steps_that_nothing_follows_wait_for_what_comes_within_a_moment(
    desk: Desk, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    rested: list[int] = []
    calls = count(monkeypatch)

    def rest(_: Appetite) -> float:
        rested.append(len(calls))
        return 0.0

    monkeypatch.setattr(Appetite, "rest", rest)
    run_id = begin(desk, ADD, ADD | {"name": "b", "depends_on": ["a"]}, ADD | {"name": "c", "depends_on": ["b"]})
    work(desk, sent)
    assert set(statuses(desk, run_id).values()) == {"succeeded"}
    assert (rested, calls) == ([2], [1, 1, 1])
