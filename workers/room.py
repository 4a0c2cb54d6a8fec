"""One worker: what its parent process has, and what each process that runs attempts has."""

from __future__ import annotations

import atexit
import os
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from orchestrator.bootstrap import make_engine
from orchestrator.config import Config
from orchestrator.domain.masking import Masker
from orchestrator.ids import new_id
from orchestrator.services.engine import Engine
from orchestrator.services.register_code import register_workflows
from orchestrator.services.tally import Tally
from orchestrator.store.transition import Lease
from orchestrator.store.workers import WorkerInfo
from orchestrator.tracing.load import Attempts, load_attempts
from workers import logs
from workers.about import this_is
from workers.announce import Announcer, never, this_process
from workers.answers import Answers
from workers.board import Board, Ending, LocalBoard
from workers.executor import Desk
from workers.exits import Exits
from workers.lease import Keeper, Pace, Power
from workers.limits import Fences, MainThread
from workers.live import Reporter
from workers.queues import Served
from workers.results import Results
from workers.shared_board import SharedBoard
from workers.telling import Telling

_LOOK_SECONDS = 0.5
# Leases of other attempts must not run out while one dead attempt's row is locked: that is left to its own lease.
_LOCK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Pool:
    """The pool a worker runs its functions in.

    `forks`: in child processes. `main_thread`: in their main thread, so that signals reach them.
    """

    name: str
    concurrency: int
    forks: bool
    main_thread: bool

    @property
    def threads(self) -> int:
        """How many functions one process runs at a time."""
        return 1 if self.main_thread else self.concurrency


@dataclass(slots=True)
class Room:
    """A worker from its start to its end; the children of a prefork pool inherit it."""

    config: Config
    pool: Pool
    worker_id: str = field(default_factory=new_id)
    pid: int = field(default_factory=os.getpid)
    board: Board = field(init=False)
    _desk: Desk | None = None
    _desk_pid: int = 0
    _keeper: Keeper | None = None
    _answers: Answers | None = None
    _tally: Tally = field(default_factory=Tally)
    _telling: Telling | None = None
    _traces: Attempts | None = None

    def __post_init__(self) -> None:
        this_is(worker=self.worker_id)
        self.board = SharedBoard() if self.pool.forks else LocalBoard()

    def desk(self) -> Desk:
        """This process' own, made at its first use."""
        if self._desk is None or self._desk_pid != os.getpid():
            self._desk, self._desk_pid = self._make_desk(), os.getpid()
        return self._desk

    def _make_desk(self) -> Desk:
        engine = self._engine(self.pool.threads + (self.pool.threads > 1))
        logs.install(Masker(engine.secrets.values()))
        reporter = Reporter()
        if self.pool.forks:  # what the parent has counted is the parent's to tell
            engine = replace(engine, tally=Tally())
            self._telling = Telling(engine)
            reporter.add("tally", self._telling)
        reporter.start()
        self._traces = load_attempts(self.config, engine.db, self.worker_id, logs.uncaptured)
        return Desk(
            traces=self._traces,
            engine=engine,
            lease=Lease(self.worker_id, self.config.lease_seconds),
            board=self.board,
            limits=MainThread(self.board, forked=self.pool.forks) if self.pool.main_thread else Fences(self.board),
            reporter=reporter,
            continuation=self.config.continuation_seconds,
            alone=self.pool.threads == 1,
        )

    def _engine(self, connections: int, lock_timeout: float | None = None) -> Engine:
        engine = make_engine(self.config, pool_size=connections, name="orchestrator-worker", lock_timeout=lock_timeout)
        return replace(engine, tally=self._tally)

    def keep(self, consumer: Any | None) -> None:
        """Begin to look after attempts, and announce the worker. `consumer`: Celery's own, None in a pool process."""
        engine = self._engine(1, _LOCK_SECONDS)
        config = self.config
        served = Served(engine.db, consumer, everything=config.all_queues) if consumer is not None else None

        self._keeper = Keeper(
            engine,
            self.board,
            Pace(
                renew=config.heartbeat_seconds,
                grace=config.timeout_grace_seconds / 2,
                look=min(_LOOK_SECONDS, config.heartbeat_seconds / 2),
            ),
            Power(interrupt=self.pool.main_thread, kill=self.pool.forks),
            Announcer(
                engine.db,
                partial(self._described, served),
                engine.functions,
                served.look if served else never,
                partial(register_workflows, engine),
            ),
            Exits(consumer.pool if consumer is not None else None),
            Telling(engine),
        )
        self._keeper.start()
        if consumer is not None:
            lease = Lease(self.worker_id, config.lease_seconds)
            self._answers = Answers(self._engine(1, _LOCK_SECONDS), lease, consumer.app, Results(_backend(config)))
            self._answers.start()
        atexit.register(self.end)  # a worker stopped by force gives no signal

    def _described(self, served: Served | None) -> WorkerInfo:
        queues = served.names() if served else []
        return this_process(
            self.worker_id, "worker", queues=queues, concurrency=self.pool.concurrency, pool=self.pool.name
        )

    def expect_end(self, how: Ending) -> None:
        """The worker is about to stop."""
        self.board.end(how)
        if self._answers is not None:
            self._answers.expect_stop()

    def end_process(self) -> None:
        """A pool process stops in good order."""
        if self._telling is not None:
            self._telling.last_if_possible()
        if self._traces is not None:
            self._traces.flush()

    def end(self) -> None:
        """The worker stops in good order."""
        if self._answers is not None and self.pid == os.getpid():
            self._answers.stop()
            self._answers = None
        if self._keeper is not None and self.pid == os.getpid():
            self._keeper.stop()
            self._keeper = None
            self.end_process()


def _backend(config: Config) -> str:
    """Where Celery projects may keep results: a Redis that is the broker often is their result backend too."""
    broker = config.broker_url
    return config.celery_result_backend or (broker if broker.startswith(("redis", "rediss", "unix")) else "")
