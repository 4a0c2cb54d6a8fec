"""An engine on a committed database, driven by hand: messages are kept in a list, workers are calls or threads."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.outcome import Outcome
from orchestrator.functions import Registry, make_spec
from orchestrator.replay.perform import perform
from orchestrator.services.claim import Claimed, claim
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import CeleryCall, Engine, Settings
from orchestrator.services.register import register
from orchestrator.services.settle import Settled
from orchestrator.services.settle_all import Done, settle_all
from orchestrator.services.start import start
from orchestrator.store import outcomes
from orchestrator.store.db import Database
from orchestrator.store.transition import Lease, Queued
from orchestrator.store.workers import announce_functions
from tests.documents import FUNCTIONS, Document

LEASE = Lease("hand", 60.0)
_log = logging.getLogger("orchestrator.step")


class Outbox:
    """A transport that keeps what is sent."""

    sends = True

    def __init__(self) -> None:
        self.messages: list[Queued] = []
        self.queues: list[str] = []
        self.calls: list[CeleryCall] = []
        self._lock = threading.Lock()

    def send(self, queue: str, queued: Sequence[Queued]) -> None:
        with self._lock:
            self.messages.extend(queued)
            self.queues.extend([queue] * len(queued))

    def depth(self, queue: str) -> int | None:
        return len(self.messages)

    def call(self, call: CeleryCall) -> None:
        self.calls.append(call)

    def revoke(self, calls: Sequence[str]) -> None:
        self.calls = [call for call in self.calls if call.token not in calls]

    def close(self) -> None:
        return

    def take(self) -> list[Queued]:
        """All messages, oldest first; none is left."""
        with self._lock:
            taken, self.messages, self.queues = self.messages, [], []
        return taken


class Unheard:
    """The link of an attempt to whose reports nobody listens."""

    def report(self, progress: Any | None) -> bool:
        return False


class Hands:
    """An engine, its outbox, and what a worker does, step by step."""

    def __init__(
        self, db: Database, functions: Mapping[str, Callable[..., Any]] | None = None, settings: Settings | None = None
    ) -> None:
        known = Registry()
        for name, call in (FUNCTIONS | dict(functions or {})).items():
            known.put(make_spec(call, name))
        self.db, self.outbox = db, Outbox()
        self.engine = Engine(db, known, self.outbox, settings or Settings())

    def start(self, document: Document, input: Any = None) -> str:
        registered = register(self.engine, document, actor="test")
        return start(self.engine, registered.workflow, input).run_id

    def claim(self, messages: Iterable[Queued] | None = None) -> list[Claimed]:
        """Claim these messages, or all that wait."""
        return claim(self.engine, list(self.outbox.take() if messages is None else messages), LEASE)

    def settle(self, claimed: Claimed, outcome: Outcome | None = None) -> Settled:
        """Settle with the outcome given, else with what the function does."""
        return finish(self.engine, claimed, outcome)

    def settle_all(self, done: Sequence[Done]) -> list[Settled]:
        """Settle these together, as a worker does what it did within a few milliseconds."""
        return finish_all(self.engine, done)

    def perform(self, claimed: Claimed) -> Done:
        """What the function does, not settled yet."""
        return performed(self.engine, claimed)

    def hold_back(self, rounds: int) -> list[Done]:
        """Perform what waits, as often; attempts that suspend their step are settled, the others are given back."""
        held = []
        for _ in range(rounds):
            for claimed in self.claim():
                done = self.perform(claimed)
                if done.outcome.suspension is not None:
                    self.settle_all([done])
                else:
                    held.append(done)
        return held

    def work(self) -> None:
        """Perform everything that waits, until nothing does."""
        while claimed := self.claim():
            for one in claimed:
                self.settle(one)

    def status(self, run_id: str) -> str:
        with self.db.transaction() as conn:
            return str(outcomes.load_run(conn, run_id)["status"])

    def steps(self, run_id: str) -> dict[str, dict[str, Any]]:
        with self.db.transaction() as conn:
            return {row["name"]: row for row in outcomes.load_steps(conn, run_id)}

    def events(self, run_id: str) -> list[str]:
        with self.db.transaction() as conn:
            return [event["kind"] for event in outcomes.load_events(conn, run_id)]


def finish(engine: Engine, claimed: Claimed, outcome: Outcome | None = None) -> Settled:
    """Settle an attempt with the outcome given, else with what its function does, and send what follows."""
    return finish_all(engine, [performed(engine, claimed) if outcome is None else Done(claimed, outcome)])[0]


def finish_all(engine: Engine, done: Sequence[Done]) -> list[Settled]:
    """Settle several attempts together, and send what follows."""
    settled = settle_all(engine, done)
    dispatch(engine, settled.queues)
    return [Settled(one.claimed.step_id in settled.stale, queues=settled.queues) for one in done]


def performed(engine: Engine, claimed: Claimed) -> Done:
    """An attempt whose function was called."""
    made = perform(engine, claimed, Unheard(), _log)
    return Done(claimed, made.outcome, made.input_json)


def audited(conn: Connection, action: str) -> list[tuple[str, str, str | None]]:
    """Who did this, to what, and why, oldest first."""
    rows = conn.execute(
        text("SELECT actor, target_id, reason FROM audit_log WHERE action = :action ORDER BY id"), {"action": action}
    )
    return [(row.actor, row.target_id, row.reason) for row in rows]


def announce(conn: Connection, *names: str) -> None:
    """A worker announces functions of these names."""
    unknown = {"module": "m", "queue": None, "description": None, "input_schema": None}
    announce_functions(conn, [{"name": name} | unknown for name in names])


SUCCESS = Outcome.succeeded(None, "null")


def together(calls: Sequence[Callable[[], Any]], deadline: float = 60) -> list[Any]:
    """Run the calls in threads that begin at the same moment; what each returned. An exception is raised again."""
    barrier = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)
    errors: list[BaseException] = []

    def one(index: int, call: Callable[[], Any]) -> None:
        try:
            barrier.wait(deadline)
            results[index] = call()
        except BaseException as error:  # noqa: BLE001 - raised again in the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=one, args=pair, daemon=True) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    ends = time.monotonic() + deadline
    for thread in threads:
        thread.join(max(0.0, ends - time.monotonic()))
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
    return results
