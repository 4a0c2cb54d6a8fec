"""The queues a worker takes steps from: those it was given, or all in use, each from when it comes into use."""

from __future__ import annotations

import logging
import time
from typing import Any

from orchestrator.config import ALL_QUEUES
from orchestrator.domain.celery_task import STEPS
from orchestrator.store import lease
from orchestrator.store.db import Database

log = logging.getLogger("orchestrator.worker")
EVERY_SECONDS = 1.0


class Served:
    """What one worker serves. `consumer`: Celery's own; `everything`: every queue with steps to be run."""

    def __init__(self, db: Database, consumer: Any, *, everything: bool) -> None:
        self._db, self._consumer, self._everything = db, consumer, everything
        self._due = 0.0
        self._told: list[str] = []
        self._refused: set[str] = set()

    def names(self) -> list[str]:
        """The queues it takes steps from now, behind `*` if it serves all."""
        named = [name for name in self._consumed() if name != STEPS]  # which is every worker's
        return [ALL_QUEUES, *named] if self._everything else named

    def _consumed(self) -> list[str]:
        return sorted(list(self._consumer.app.amqp.queues.consume_from))  # noqa: C414 - another thread adds to it

    def look(self) -> bool:
        """Begin with queues that came into use; whether the names are others than at the last look.

        Raises `Unreachable`.
        """
        if self._everything and time.monotonic() >= self._due:
            for name in sorted(lease.queues_in_use(self._db) - {*self._consumed(), *self._refused}):
                self._consumer.call_soon(self._begin, name)
            self._due = time.monotonic() + EVERY_SECONDS
        before, self._told = self._told, self.names()
        return self._told != before

    def _begin(self, name: str) -> None:
        """Runs in Celery's own thread. While it is not connected nothing is done: the next look asks again."""
        consumer = self._consumer
        if consumer.task_consumer is None or consumer.blueprint.human_state() != "running":
            return
        try:
            consumer.add_task_queue(name)
        except consumer.connection_errors:
            raise  # Celery connects again, to this queue too
        except Exception as error:
            self._refused.add(name)
            consumer.app.amqp.queues.deselect(name)
            log.error("queue %r cannot be served: %s", name, error)
            # The broker may have closed the channel on which the other queues are served.
            raise ConnectionResetError(f"the broker refused queue {name!r}") from error
