"""The real SQL and the real engine in one transaction, with no broker and a clock that skips waits."""

from __future__ import annotations

import contextvars
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from orchestrator.config_urls import database_url as checked_url
from orchestrator.domain.limits import Limits
from orchestrator.domain.load import load_text
from orchestrator.embedded.scratch import scratch_database
from orchestrator.errors import (
    AttemptTimeout,
    InvalidConfig,
    InvalidDefinition,
    OrchestratorError,
    Problem,
)
from orchestrator.functions import Registry, make_spec, registry
from orchestrator.replay.perform import perform
from orchestrator.replay.rehearsal import stage as stages
from orchestrator.replay.rehearsal.stage import Stuck
from orchestrator.services.claim import Prepared, claim
from orchestrator.services.coordinate import tick
from orchestrator.services.decide import decide
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import CeleryCall, Engine, Settings
from orchestrator.services.register import register
from orchestrator.services.settle_all import Done, settle_all
from orchestrator.services.signal import signal
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.store import lease, outcomes
from orchestrator.store.clock import Clock
from orchestrator.store.db import Database, limit_lock_waits
from orchestrator.store.one_transaction import OneTransaction, gather_savepoints
from orchestrator.store.transition import Lease, Queued
from orchestrator.store.workflows import ensure_app
from orchestrator.testing.results import RunResult, StepResult

log = logging.getLogger("orchestrator.step")

_WORKER = Lease("testing", 3600.0)
_LOCK_SECONDS = 10.0
Document = Mapping[str, Any] | str | Path
# Which of the waiting steps goes next, given how many wait.
Pick = Callable[[int], int]


@contextmanager
def sandbox(
    functions: Mapping[str, Callable[..., Any]] | None = None,
    *,
    at: datetime | None = None,
    settings: Settings | None = None,
    database_url: str | None = None,
) -> Iterator[Sandbox]:
    """An engine inside one transaction, rolled back at the end; for tests that do more than one `run`.

    Raises `InvalidConfig` and `Unreachable` for a `database_url` that cannot be used, and `Locked` when another open
    sandbox holds what this one needs.
    """
    with _database(database_url).new_connection() as connection:
        outer = connection.begin()
        limit_lock_waits(connection, _LOCK_SECONDS)
        box = Sandbox(connection, registry_with(functions or {}), settings or Settings())
        if at is not None:
            box.clock.move_to(at)
        reset = _current.set(box)
        try:
            yield box
        finally:
            _current.reset(reset)
            outer.rollback()


@cache
def _database(url: str | None) -> Database:
    """One a process and database: a warm connection makes a small run several times faster."""
    database = Database.connect(scratch_database() if url is None else _checked(url))
    gather_savepoints(database.engine)
    if url is not None:
        return database
    with database.transaction() as conn:  # made by a sandbox, every other would wait until that one is closed
        ensure_app(conn, Settings().app)
    return database


def _checked(url: str) -> str:
    try:
        return checked_url(url)
    except ValueError as error:
        raise InvalidConfig([Problem("database_url", str(error))]) from error


def sleep(seconds: float) -> None:
    """Inside a step function under test: let `seconds` of the run's clock pass at once.

    Raises `AttemptTimeout` when that takes the attempt past its `timeout`.
    """
    box = _current.get() or stages.current.get()
    if box is None:
        raise OrchestratorError("testing.sleep works inside a step function run by orchestrator.testing")
    box.pass_time(seconds)


class Sandbox:
    """An engine whose messages are handed over in this process, one at a time."""

    sends = True

    def __init__(self, connection: Connection, functions: Registry, settings: Settings) -> None:
        self.connection = connection
        self.clock = Clock(connection)
        self._waiting: deque[Queued] = deque()
        self._deadline: float | None = None
        self.engine = Engine(OneTransaction(connection), functions, self, settings)

    # The engine's transport.

    def send(self, queue: str, queued: Sequence[Queued]) -> None:
        self._waiting.extend(queued)

    def depth(self, queue: str) -> int | None:
        return len(self._waiting)

    def call(self, call: CeleryCall) -> None:
        raise OrchestratorError(
            f"no Celery worker runs in a test: give functions={{'celery:{call.name}': ...}} to be called instead"
        )

    def revoke(self, calls: Sequence[str]) -> None:
        return

    def close(self) -> None:
        return

    # Driving.

    def start(self, definition: Document, input: Any = None, options: StartOptions | None = None) -> str:
        """Register the definition and start a run of it; the run's id."""
        return start(self.engine, self.register(definition), input, options).run_id

    def register(self, definition: Document) -> str:
        """Register the definition; the workflow's name."""
        document = load_document(definition, self.engine.settings.documents)
        return register(self.engine, document, actor="testing").workflow

    def tell(self, run_id: str, signals: Mapping[str, Any], approvals: Mapping[str, Any]) -> None:
        """Send events and decisions to the run; those that come before their wait are kept."""
        for name, payload in signals.items():
            signal(self.engine, run_id, name, payload, actor="testing")
        for step, answer in approvals.items():
            if isinstance(answer, Sequence):
                for item, one in enumerate(answer):
                    self._decide(run_id, step, one, item)
            else:
                self._decide(run_id, step, answer)

    def _decide(self, run_id: str, step: str, answer: bool | Mapping[str, Any], item: int | None = None) -> None:
        fields = {} if isinstance(answer, bool) else answer
        decide(self.engine, run_id, step, answer is not False, fields, item=item, actor="testing")

    def drive(
        self, run_id: str, pick: Pick = lambda waiting: 0, check: Callable[[Sandbox], None] | None = None
    ) -> None:
        """Work until the run has ended (or is paused)."""
        while self.step(pick) or self._wait(run_id):
            if check is not None:
                check(self)

    def step(self, pick: Pick = lambda waiting: 0) -> bool:
        """Perform one waiting step, as a worker would; False when none waits."""
        if not self._waiting:
            return False
        index = pick(len(self._waiting))
        queued = self._waiting[index]
        del self._waiting[index]
        for claimed in claim(self.engine, [queued], _WORKER):
            performed = perform(self.engine, claimed, _Link(), log, self._guard)
            done = Done(claimed, performed.outcome, performed.input_json)
            dispatch(self.engine, settle_all(self.engine, [done]).queues)
        return True

    def _wait(self, run_id: str) -> bool:
        """Nothing waits: let the coordinator look, else skip to what is due next; False when the run is over."""
        if outcomes.is_settled(self.connection, run_id):
            return False
        tick(self.engine)
        if self._waiting or outcomes.is_settled(self.connection, run_id):
            return bool(self._waiting)
        due_in = lease.next_due(self.connection, run_id)
        if due_in is None:
            raise Stuck(
                f"run {run_id} is open and nothing will move it: {outcomes.describe_open(self.connection, run_id)}"
            )
        self.clock.skip(timedelta(seconds=max(due_in, 0.001)))
        return True

    def pass_time(self, seconds: float) -> None:
        """Let time pass inside the running attempt."""
        allowed = seconds if self._deadline is None else min(seconds, self._deadline)
        self.clock.skip(timedelta(seconds=allowed))
        if self._deadline is not None:
            self._deadline -= allowed
            if allowed < seconds:
                raise AttemptTimeout(f"the attempt used up its timeout ({seconds - allowed:g} s too long)")

    @contextmanager
    def _guard(self, prepared: Prepared) -> Iterator[None]:
        self._deadline = prepared.timeout
        try:
            yield
        finally:
            self._deadline = None

    def result(self, run_id: str) -> RunResult:
        """The run and its steps as they are now."""
        row = outcomes.load_run(self.connection, run_id)
        items = outcomes.load_items(self.connection, run_id)
        steps = {}
        for s in outcomes.load_steps(self.connection, run_id):
            steps[s["name"]] = StepResult(**s, items=tuple(StepResult(**i) for i in items[s["name"]]))
        events = tuple(outcomes.load_events(self.connection, run_id))
        children = tuple(self.result(id) for id in outcomes.load_children(self.connection, run_id))
        return RunResult(steps=steps, events=events, children=children, **row)


class _Link:
    def report(self, progress: Any | None) -> bool:
        return False


_current: contextvars.ContextVar[Sandbox | None] = contextvars.ContextVar("orchestrator_sandbox", default=None)


def registry_with(functions: Mapping[str, Callable[..., Any]]) -> Registry:
    """What is registered, and these."""
    made = Registry("a test's functions are those of its `functions` and of the modules it has imported")
    for spec in registry:
        made.put(spec)
    for name, call in functions.items():
        made.put(make_spec(call, name))
    for workflow in registry.workflows:
        made.workflows.put(workflow)
    return made


def load_document(definition: Document, limits: Limits) -> Mapping[str, Any]:
    """The document a map, text or path stands for."""
    if isinstance(definition, Path):
        definition = definition.read_text()
    loaded = load_text(definition, limits=limits) if isinstance(definition, str) else definition
    if isinstance(loaded, str):
        told = f"'{loaded:.80}' is text, not a workflow document"
        raise InvalidDefinition([Problem("", told, "a file is given as pathlib.Path(...)")])
    return dict(loaded) if isinstance(loaded, Mapping) else loaded
