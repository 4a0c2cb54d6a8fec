"""Starts that come thick and fast are dispatched together, and those of a caller's transaction once it is committed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest
from sqlalchemy import text

from orchestrator.errors import Unreachable
from orchestrator.services.gather import Gathered
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions, start_plainly
from orchestrator.store.batch import queue_ready
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands
from tests.support import wait_for

LONG = 3600.0


class Clock:
    """The moments between which a `Gathered` gathers: they pass when they are told to."""

    def __init__(self) -> None:
        self._passes = threading.Semaphore(0)

    def rest(self, seconds: float) -> None:
        self._passes.acquire(timeout=30)

    def pass_once(self) -> None:
        self._passes.release()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def later(act: Callable[[set[str]], None]) -> Callable[[set[str]], set[str]]:
    """The same act, after which nothing is to be looked at again."""

    def done(names: set[str]) -> set[str]:
        act(names)
        return set()

    return done


@pytest.fixture
def gathered(clock: Clock) -> Iterator[Gathered]:
    made = Gathered(LONG, clock.rest)
    yield made
    for _ in range(10):
        clock.pass_once()
    made.finish()


Acted = list[tuple[set[str], bool]]


@pytest.fixture
def acted() -> Acted:
    """What was done, and whether who named it did it himself."""
    return []


@pytest.fixture
def act(acted: Acted) -> Callable[[set[str]], None]:
    caller = threading.current_thread()
    return lambda names: acted.append((names, threading.current_thread() is caller))


def test_the_first_of_a_queue_is_done_at_once_and_those_that_follow_together(
    gathered: Gathered, clock: Clock, act: Callable[[set[str]], None], acted: Acted
) -> None:
    for name in ("a", "a", "b", "a", "b"):
        gathered.add([name], act, later(act))
    assert acted == [({"a"}, True), ({"b"}, True)]
    clock.pass_once()
    wait_for(lambda: acted[2:] == [({"a", "b"}, False)])


def test_the_first_of_a_queue_is_done_at_once_on_a_machine_that_was_just_started(
    gathered: Gathered, act: Callable[[set[str]], None], acted: Acted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.services.gather.time", SimpleNamespace(monotonic=lambda: 1.0))
    gathered.add(["a"], act, later(act))
    assert acted == [({"a"}, True)]


def test_what_was_named_long_ago_is_done_at_once(act: Callable[[set[str]], None], acted: Acted) -> None:
    """Without a moment to gather in, everything was."""
    gathered = Gathered()
    for _ in range(3):
        gathered.add(["a"], act, later(act))
    assert acted == [({"a"}, True)] * 3


@pytest.mark.parametrize("error", [Unreachable("away"), ValueError("broken")])
def test_one_that_fails_is_told_and_keeps_no_other_waiting(
    gathered: Gathered, clock: Clock, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    done: list[set[str]] = []

    def act(names: set[str]) -> None:
        done.append(names)
        if len(done) == 2:
            raise error

    for _ in range(2):
        gathered.add(["a"], act, later(act))
    clock.pass_once()
    wait_for(lambda: len(done) == 2)
    gathered.add(["b"], act, later(act))
    gathered.add(["b"], act, later(act))
    clock.pass_once()
    wait_for(lambda: done[2:] == [{"b"}, {"b"}])
    assert caplog.text.count("left to the coordinator") == 1


def test_nothing_gathered_is_left_when_it_is_finished(act: Callable[[set[str]], None], acted: Acted) -> None:
    gathered, others = Gathered(LONG, lambda seconds: None), set(threading.enumerate())
    for _ in range(3):
        gathered.add(["a"], act, later(act))
    gathered.finish()
    done = list(acted)
    assert sum(len(names) for names, _ in done) >= 2

    def is_over() -> bool:
        """Nobody waits for a thread that has found nothing left: it may be about to end."""
        return "orchestrator-starts" not in [thread.name for thread in set(threading.enumerate()) - others]

    wait_for(is_over, what="the end of the thread")
    assert acted == done


def test_a_name_is_looked_at_again_as_long_as_that_is_said_of_it(gathered: Gathered, clock: Clock) -> None:
    seen: list[set[str]] = []

    def look(names: set[str]) -> set[str]:
        seen.append(names)
        return {"a"} if len(seen) < 3 else set()

    for name in ("a", "a", "b", "b"):
        gathered.add([name], lambda _: None, look)
    for _ in range(5):
        clock.pass_once()
    gathered.finish()
    assert seen == [{"a", "b"}, {"a"}, {"a"}]


def test_a_name_that_others_keep_young_is_not_looked_at_for_ever(gathered: Gathered, clock: Clock) -> None:
    """A process whose last starts were sent would never end beside a busy queue."""
    seen: list[set[str]] = []

    def look(names: set[str]) -> set[str]:
        seen.append(names)
        return names

    for _ in range(2):
        gathered.add(["a"], lambda _: None, look)
    for _ in range(20):
        clock.pass_once()
    gathered.finish()
    assert 3 < len(seen) < 10


@pytest.fixture
def hands(db: Database) -> Iterator[Hands]:
    made = Hands(db)
    made.engine = replace(made.engine, starts=Gathered(0.01))
    register(made.engine, document(step("a")))
    yield made
    made.engine.starts.finish()  # or it would look into a database that is gone


@pytest.fixture
def committed(hands: Hands) -> Iterator[threading.Event]:
    """Starts of callers' transactions are looked for from when this is set: a test may take longer to commit than
    they are looked for."""
    event, never = threading.Event(), threading.Event()

    def rest(seconds: float) -> None:
        assert event.wait(30)
        never.wait(seconds)

    hands.engine = replace(hands.engine, starts=Gathered(0.01, rest))
    yield event
    event.set()


def test_every_start_of_many_is_sent(hands: Hands) -> None:
    runs = [start(hands.engine, "w").run_id for _ in range(30)]
    hands.engine.starts.finish()
    hands.work()
    assert {hands.status(run_id) for run_id in runs} == {"succeeded"}


def test_a_burst_needs_few_messages_as_long_as_its_steps_are_taken_soon(hands: Hands) -> None:
    """Whoever takes one takes the others: more are sent for what still waits after a moment."""
    start_plainly(hands.engine, "w", [{}] * 6, StartOptions())
    found = [queue_ready(hands.db, "default", most, patience) for most, patience in ((100, 60), (2, 0), (100, 0))]
    assert [(len(queued.get("default", ())), left) for queued, left in found] == [(0, True), (2, False), (4, False)]


def test_with_patience_the_old_are_sent_and_the_young_left_and_told_of(hands: Hands) -> None:
    start_plainly(hands.engine, "w", [{}] * 2, StartOptions())
    one = "(SELECT id FROM workflow_run_steps ORDER BY id LIMIT 1)"
    with hands.db.transaction() as conn:
        conn.execute(text(f"UPDATE workflow_run_steps SET ready_at = ready_at - interval '1 hour' WHERE id = {one}"))
    assert [(len(queued), left) for queued, left in (queue_ready(hands.db, "default", 9, 60) for _ in "ab")] == [
        (1, True),
        (0, True),
    ]
    assert queue_ready(hands.db, "default", 1, 60) == ({}, False)  # there is no room: whoever takes that one looks
    assert queue_ready(hands.db, "other", 9, 60) == ({}, False)


def test_a_start_in_a_callers_transaction_is_sent_once_that_is_committed(
    hands: Hands, committed: threading.Event
) -> None:
    for _ in range(3):
        with hands.db.engine.begin() as conn:
            run_id = start(hands.engine, "w", connection=conn).run_id
            hands.engine.starts.finish()
            assert hands.outbox.messages == []
            committed.clear()
        committed.set()
        wait_for(lambda: hands.outbox.messages, what="the message")
        hands.work()
        assert hands.status(run_id) == "succeeded"


def test_one_connection_can_commit_many_transactions_with_starts(hands: Hands, committed: threading.Event) -> None:
    with hands.db.engine.connect() as conn:
        for _ in range(3):
            committed.clear()
            with conn.begin():
                start(hands.engine, "w", connection=conn)
            committed.set()
            wait_for(lambda: hands.outbox.take(), what="the message")


@pytest.mark.parametrize("young", [0, 1])
def test_a_commit_that_takes_a_while_is_waited_for(hands: Hands, clock: Clock, young: int) -> None:
    """Also when others make steps of the queue ready meanwhile, which a look finds too young: it does not give up."""
    gathered = Gathered(LONG, clock.rest)
    looked: list[set[str]] = []

    def look(names: set[str]) -> set[str]:
        looked.append(names)
        return names if len(looked) <= young else set()

    with hands.db.engine.begin() as conn:
        gathered.add_at_commit(conn, ["a"], look)
    for _ in range(4):
        clock.pass_once()
    wait_for(lambda: looked == [{"a"}] * 4)
    for _ in range(20):
        clock.pass_once()
    gathered.finish()


def test_a_start_that_is_rolled_back_is_never_sent(hands: Hands) -> None:
    with hands.db.engine.connect() as conn:
        for end in ("rollback", "commit"):
            transaction = conn.begin()
            if end == "rollback":
                start(hands.engine, "w", connection=conn)
            getattr(transaction, end)()
            assert hands.engine.starts._thread is None
    assert hands.outbox.messages == []
