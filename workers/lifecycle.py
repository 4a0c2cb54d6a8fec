"""Celery's signals, as the life of a worker: connected, any Celery worker of this process is one of ours."""

from __future__ import annotations

import gc
import logging
import os
import sys
from typing import Any

from celery import Celery, concurrency, signals
from kombu import Exchange, Queue

from orchestrator.config import Config
from orchestrator.domain.celery_task import STEPS
from orchestrator.errors import InvalidConfig, OrchestratorError
from orchestrator.functions import BUILT_IN, load_modules
from workers.board import Ending
from workers.executor import Desk
from workers.room import Pool, Room
from workers.waking import leave_at_once

log = logging.getLogger("orchestrator.worker")
_IN_MAIN_THREAD = ("prefork", "solo")


class Lifecycle:
    """The worker this process is, or belongs to."""

    def __init__(self, app: Celery, config: Config) -> None:
        self.app, self.config = app, config
        self._room: Room | None = None

    def connect(self) -> None:
        """Listen to Celery."""
        signals.beat_init.connect(_collect_garbage, weak=False)
        signals.worker_init.connect(self.on_worker_init, weak=False)
        signals.celeryd_after_setup.connect(self.on_queues_chosen, weak=False)
        signals.worker_process_init.connect(self.on_process_init, weak=False)
        signals.worker_ready.connect(self.on_ready, weak=False)
        signals.worker_shutting_down.connect(self.on_shutting_down, weak=False)
        signals.worker_shutdown.connect(self.on_shutdown, weak=False)

    def desk(self) -> Desk:
        """What this process runs attempts with."""
        if self._room is None:
            raise OrchestratorError("steps run in a Celery worker only; this process is none")
        return self._room.desk()

    def load_functions(self) -> None:
        """Before anything runs; functions that cannot be loaded end the process with a sentence."""
        try:
            load_modules((BUILT_IN, *self.config.functions))
        except InvalidConfig as error:
            sys.stderr.write(f"orchestrator: {error}\n")
            raise SystemExit(2) from None  # Celery would log an `Exception` with its traceback, and go on

    def on_worker_init(self, sender: Any, **_: Any) -> None:
        self.load_functions()
        _collect_garbage()
        self._room = Room(self.config, _pool_of(sender))

    def on_queues_chosen(self, instance: Any, **_: Any) -> None:
        """Whatever queues it was given, every worker serves the steps that call plain Celery tasks."""
        instance.app.amqp.queues.select_add(Queue(STEPS, Exchange(STEPS), STEPS))

    def on_process_init(self, **_: Any) -> None:
        """A pool process has started: a forked child, the worker itself (solo), or a fresh interpreter (spawn)."""
        if self._room is None:
            # Spawned: nothing was inherited, so the process looks after itself.
            self.load_functions()
            self._room = Room(self.config, Pool("prefork", 1, forks=False, main_thread=True))
            self._room.keep(None)
        if self._room.pid != os.getpid():
            _end_without(self._room.pid)
            self._room.desk()
        signals.worker_process_shutdown.connect(self.on_process_shutdown, weak=False)
        signals.worker_process_shutdown.connect(leave_at_once, weak=False)  # behind those of the step functions

    def on_process_shutdown(self, **_: Any) -> None:
        if self._room is not None:
            self._room.end_process()

    def on_ready(self, sender: Any, **_: Any) -> None:
        if self._room is not None:
            if not self._room.pool.forks:
                self._room.desk()
            self._room.keep(sender)

    def on_shutting_down(self, how: str, **_: Any) -> None:
        """In a signal handler: running steps go on, for hours perhaps, unless the end is a cold one."""
        if self._room is not None:
            self._room.expect_end(Ending.WARM if how == "Warm" else Ending.COLD)

    def on_shutdown(self, **_: Any) -> None:
        if self._room is not None:
            self._room.end()


def _end_without(parent: int) -> None:
    """End this process if the one that forked it is gone.

    Celery has asked the kernel by now to kill it when its parent dies (PR_SET_PDEATHSIG), which says nothing of one
    that was dead by then; and each child of a pool holds the pipes of the others, so that none sees the end of its own.
    """
    if os.getppid() != parent:
        os._exit(1)


def _collect_garbage(**_: Any) -> None:
    """From here on, if it was not done while it started (orchestrator/up/launch.py). What is imported is none."""
    gc.freeze()
    gc.enable()


def _pool_of(worker: Any) -> Pool:
    implementation = concurrency.get_implementation(worker.pool_cls)
    name = implementation.__module__.rpartition(".")[2].replace("thread", "threads")
    count = worker.concurrency if isinstance(worker.concurrency, int) else os.cpu_count() or 1
    return Pool(name, count, forks=name == "prefork", main_thread=name in _IN_MAIN_THREAD)
