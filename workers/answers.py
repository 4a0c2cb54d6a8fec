"""One thread of a worker's parent process that takes in what plain Celery tasks give (docs/celery.md).

Not the pool: there an answer would wait behind steps that take hours. A message is acknowledged once its answer is
stored; one that comes again finds its attempt over, and changes nothing.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from celery import Celery
from kombu import Consumer, Exchange, Message, Queue

from orchestrator.domain.celery_task import ANSWERS, Announced, Answer
from orchestrator.errors import OrchestratorError
from orchestrator.services.answer import announce_tasks, settle_answered, take_answers, understood
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.settle_all import Done, SettledAll
from orchestrator.store.transition import Lease
from workers.logs import uncaptured
from workers.outage import Outage
from workers.results import Results

log = logging.getLogger("orchestrator.worker")
_MOST = 100  # messages in this process at a time
_LOOK_SECONDS = 0.5
_EARLY_SECONDS = 0.05  # an answer that came before the step had begun to wait for it is looked at again
_REST_SECONDS = 1.0
_STOP_SECONDS = 5.0
# On Redis a queue is a list for each step of priority, and the other project's steps are not ours.
_EVERY_PRIORITY = {"priority_steps": list(range(10))}
_Held = tuple[Message, Answer]


class Answers:
    """Takes in answers from the broker of `app`; `start` runs it in a thread of its own."""

    def __init__(self, engine: Engine, lease: Lease, app: Celery, results: Results) -> None:
        self._engine, self._lease, self._app, self._results = engine, lease, app, results
        self._inbox: deque[Message] = deque()
        self._held: list[_Held] = []  # read, and their attempts not settled yet
        self._outage = Outage(log, "taking in answers of Celery tasks")
        self._away = False  # the broker, and it is told
        self._look = _LOOK_SECONDS
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="orchestrator-answers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def expect_stop(self) -> None:
        """Go on, and look more often whether to stop: a wait for the broker cannot be ended."""
        self._look = _EARLY_SECONDS

    def stop(self) -> None:
        """End the thread; what it holds is not acknowledged, and goes to another worker."""
        self._stopping.set()
        self._thread.join(_STOP_SECONDS)
        self._engine.db.close()

    def _run(self) -> None:
        uncaptured()
        while not self._stopping.is_set():
            try:
                self._consume()
            except Exception as error:  # noqa: BLE001 - the broker may be away for hours, and be back
                if not self._away:
                    log.warning("answers of Celery tasks wait for the broker: %s: %s", type(error).__name__, error)
                self._away = True
                self._stopping.wait(_REST_SECONDS)

    def _consume(self) -> None:
        self._inbox.clear()
        self._held.clear()
        with self._app.connection_for_read() as connection:
            connection.transport_options = {**(connection.transport_options or {}), **_EVERY_PRIORITY}
            connection.ensure_connection(max_retries=1)
            channel = connection.channel()
            queue = Queue(ANSWERS, Exchange(ANSWERS), ANSWERS)
            with Consumer(channel, [queue], on_message=self._inbox.append, accept=["json"], prefetch_count=_MOST):
                while not self._stopping.is_set():
                    self._drain(connection.drain_events)
                    self._away = False
                    self._store()

    def _drain(self, drain: Callable[..., Any]) -> None:
        """Wait for a message, and take those that are there with it."""
        wait = _EARLY_SECONDS if self._held else self._look
        while len(self._inbox) < _MOST:
            try:
                drain(timeout=wait)
            except TimeoutError:
                return
            wait = 0.001

    def _store(self) -> None:
        tasks = self._read()
        with self._outage.ridden_out():
            announce_tasks(self._engine.db, tasks)
            if self._held:
                self._settle_held()
        if self._outage.lasts:
            self._stopping.wait(_REST_SECONDS)

    def _settle_held(self) -> None:
        taken = take_answers(self._engine, [answer for _, answer in self._held], self._lease)
        settled = self._settle(taken.done) if taken.done else SettledAll()
        kept = [h for h in self._held if h[1].token in taken.early or h[1].step_id in settled.stale]
        for held in self._held:
            if held not in kept:
                held[0].ack()
        self._held = kept
        dispatch(self._engine, settled.queues)

    def _settle(self, done: Sequence[Done]) -> SettledAll:
        """However long it takes: what was claimed here is nobody else's until its lease ends."""
        while True:
            with self._outage.ridden_out():
                return settle_answered(self._engine, done)
            if self._stopping.wait(_REST_SECONDS):
                raise OrchestratorError("the worker stops while Postgres is away")

    def _read(self) -> list[Announced]:
        """Read what came; announcements, which nobody misses, are given back and acknowledged."""
        tasks = []
        while self._inbox:
            message = self._inbox.popleft()
            read = self._understood(message)
            if isinstance(read, Answer):
                self._held.append((message, self._told_why(read)))
                continue
            if read is not None:
                tasks.append(read)
            message.ack()
        return tasks

    def _understood(self, message: Message) -> Answer | Announced | None:
        try:
            return understood(str(message.headers.get("task")), message.payload[0])
        except Exception as error:  # noqa: BLE001 - whoever put it into our queue; it must not stop the others
            log.error("a message among the answers of Celery tasks is dropped: %s: %s", type(error).__name__, error)
            return None

    def _told_why(self, answer: Answer) -> Answer:
        """With the error from the result backend, where the worker itself did not tell it."""
        error = self._results.error_of(answer.task_id) if answer.task_id is not None else None
        return answer if error is None else replace(answer, error=error)
