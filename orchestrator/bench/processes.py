"""The processes that are measured: a worker, beat and the web process, started as `orchestrator worker` starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from orchestrator.config import Config
from orchestrator.embedded import Guardian
from orchestrator.embedded.errors import log_tail
from orchestrator.embedded.ports import LOOPBACK, is_free
from orchestrator.errors import OrchestratorError
from orchestrator.store.db import Database
from orchestrator.store.reads.workers import list_workers
from orchestrator.up.commands import beat_command, web_command, worker_command

_READY_SECONDS = 60.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Process:
    """A started process, in a group of its own."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path


class Processes:
    """The processes of one measurement around one database and one broker."""

    def __init__(self, config: Config, folder: Path, guardian: Guardian) -> None:
        self._config, self._folder, self._guardian = config, folder, guardian
        self._running: list[Process] = []

    @property
    def pids(self) -> dict[str, int]:
        """Of the started ones, by name; each may have children."""
        return {process.name: process.popen.pid for process in self._running}

    def start_worker_and_beat(self) -> None:
        """Start both, and wait until each has announced itself. Raises `OrchestratorError` with what it said."""
        started = [
            self._start("worker", worker_command(self._config)),
            self._start("beat", beat_command(self._config)),
        ]
        db = Database.connect(self._config.database_url, pool_size=1, application_name="orchestrator-bench")
        try:
            for process in started:
                _wait_ready(process, partial(_announced, db, process.popen.pid))
        finally:
            db.close()

    def start_web(self) -> None:
        """Start the web process on the configured port, and wait until it listens."""
        process = self._start("web", web_command(self._config, host=LOOPBACK))
        _wait_ready(process, lambda: not is_free(self._config.port))

    def stop(self) -> None:
        """Ask all to end; kill what has not after ten seconds, with what it started."""
        for process in self._running:
            process.popen.terminate()
        ends = time.monotonic() + _STOP_SECONDS
        while self._running:
            self._end(self._running.pop(), ends)

    def _start(self, name: str, command: Sequence[str]) -> Process:
        log = self._folder / f"{name}.log"
        # What a killed pool leaves in its temporary folder goes with ours.
        env = self._config.environment() | {"TMPDIR": str(self._folder)}
        with log.open("ab") as output:
            popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env=env,
                start_new_session=True,
            )
        self._running.append(Process(name, popen, log))
        self._guardian.add(popen.pid, signal.SIGTERM)
        return self._running[-1]

    def _end(self, process: Process, ends: float) -> None:
        try:
            process.popen.wait(max(0.0, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            _end_group(process.popen.pid)
            process.popen.wait()
        _end_group(process.popen.pid)
        self._guardian.drop(process.popen.pid)


def _end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _announced(db: Database, pid: int) -> bool:
    with db.transaction() as conn:
        return any(worker["pid"] == pid for worker in list_workers(conn))


def _wait_ready(process: Process, ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not ready():
        if process.popen.poll() is not None or time.monotonic() > deadline:
            raise OrchestratorError(f"{process.name} did not become ready; the end of its log:{log_tail(process.log)}")
        time.sleep(_POLL_SECONDS)
