"""A process tells the database that it is there."""

from __future__ import annotations

import importlib.metadata
import os
import socket
import time
from collections.abc import Callable, Sequence
from functools import cache

from orchestrator.functions import Registry, describe_retry
from orchestrator.store import workers
from orchestrator.store.db import Database
from orchestrator.store.workers import WorkerInfo

EVERY_SECONDS = 5.0
_WHOLE_EVERY_SECONDS = 300.0
_FORGOTTEN_AFTER = 86_400.0


def this_process(
    id: str, kind: str, *, queues: Sequence[str] = (), concurrency: int = 0, pool: str | None = None
) -> WorkerInfo:
    """What this process says of itself."""
    return WorkerInfo(id, kind, socket.gethostname(), os.getpid(), list(queues), concurrency, pool, _version())


@cache
def _version() -> str:
    """Of the code this process runs: what is installed meanwhile is not."""
    return importlib.metadata.version("orchestrator")


def nothing() -> bool:
    """What a process without functions has to register."""
    return True


def never() -> bool:
    """A process whose description stays as it is."""
    return False


class Announcer:
    """Says every few seconds, and when it `changed`, that the process lives; before, it `register`s its workflows
    and says, once, what functions it has."""

    def __init__(
        self,
        db: Database,
        describe: Callable[[], WorkerInfo],
        functions: Registry | None = None,
        changed: Callable[[], bool] = never,
        register: Callable[[], bool] = nothing,
    ) -> None:
        self._db, self._describe, self._functions, self._changed = db, describe, functions, changed
        self._register = register
        self._due = self._whole_due = 0.0

    def announce(self) -> None:
        """Do it if it is time; raises `Unreachable`."""
        if not self._changed() and time.monotonic() < self._due:
            return
        if time.monotonic() >= self._whole_due or not workers.keep_alive(self._db, self._describe()):
            self._announce_whole()
        self._due = time.monotonic() + EVERY_SECONDS

    def _announce_whole(self) -> None:
        """All about this process, and those that are long gone are forgotten. Its workflows are registered first: who
        sees that it is there can start them. It is there also when they cannot be."""
        try:
            registered = self._functions is None or self._register()
        finally:
            self._announce_process()
        if registered:
            self._functions = None
            self._whole_due = time.monotonic() + _WHOLE_EVERY_SECONDS  # else the whole is said again next time

    def _announce_process(self) -> None:
        with self._db.transaction(lazy=True) as conn:
            workers.announce(conn, self._describe())
            if self._functions is not None:
                workers.announce_functions(conn, _described(self._functions))
            workers.forget_gone(conn, _FORGOTTEN_AFTER)

    def leave(self) -> None:
        """Say that the process goes; raises `Unreachable`."""
        with self._db.transaction(lazy=True) as conn:
            workers.mark_stopped(conn, self._describe().id)


def _described(functions: Registry) -> list[dict[str, object]]:
    return [
        {
            "name": spec.name,
            "module": spec.module,
            "queue": spec.queue,
            "description": spec.description,
            "input_schema": spec.input_schema,
            "retry": describe_retry(spec),
        }
        for spec in functions
    ]
