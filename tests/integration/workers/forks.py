"""Workers and beats forked from one process that has imported what they import: half of what a start costs.

`Forks.start` is what `python launch.py ARGV` is, and `Forked` what `subprocess.Popen` is of it. The real start is
tested in test_launch.py and test_up.py. `Forks.plain` are the same for workers of plain Celery. Run as a program it is
that process: one JSON line asks, one answers (forking.py).
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestrator import transport
from orchestrator.up import launch
from tests.integration.workers import forking
from tests.support import wait_for

ROOT = Path(__file__).resolve().parents[3]
ANSWER_SECONDS = "TEST_ANSWER_SECONDS"  # in the environment of a process: how long it waits for its broker's answers
_IMPORTED = (
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.bin.beat",
    "celery.bin.worker",
    "celery.concurrency.prefork",
    "celery.worker.consumer",
    "kombu.transport.redis",
    "psycopg2",
    "sqlalchemy.dialects.postgresql.psycopg2",
    "workers.lifecycle",
    "workers.make",
    "workers.tasks",
    "tests.integration.workers.steps",
)


class Forks:
    """The process to fork from. It ends with `close`, or with the process that made it, and what it started with it."""

    def __init__(self, *program: str) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, *(program or ("-m", __name__)), str(theirs.fileno())]
            self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], start_new_session=True)
        self._answers = self._socket.makefile()

    @cached_property
    def plain(self) -> Forks:
        """What workers of another project are forked from; nothing of ours is imported there."""
        return Forks(str(forking.__file__))

    def start(self, argv: Sequence[str], env: Mapping[str, str], log: Path, folder: Path = ROOT) -> Forked:
        """A process of launch.py with these arguments, in a folder, that writes to `log`."""
        return self._start([str(launch.__file__), *argv], env, log, folder)

    def start_plain(self, argv: Sequence[str], env: Mapping[str, str], log: Path, folder: Path) -> Forked:
        """A process of `celery` with these arguments, in a folder, that writes to `log`."""
        return self.plain._start(["celery", *argv], env, log, folder)

    def _start(self, argv: Sequence[str], env: Mapping[str, str], log: Path, folder: Path) -> Forked:
        return Forked(self, self.ask(argv=list(argv), env=dict(env), log=str(log), folder=str(folder)))

    def ask(self, **question: Any) -> Any:
        self._socket.sendall(json.dumps(question).encode() + b"\n")
        return json.loads(self._answers.readline())

    def close(self) -> None:
        if "plain" in self.__dict__:
            self.plain.close()
        self._answers.close()
        self._socket.close()
        self._process.wait()


@dataclass
class Forked:
    """A process that another one started, with what tests use of `subprocess.Popen`."""

    forks: Forks
    pid: int
    returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self.forks.ask(ended=self.pid)
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        """Its exit code; raises `AssertionError` after `timeout` seconds."""
        wait_for(lambda: self.poll() is not None, timeout, what=f"the end of process {self.pid}")
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


if __name__ == "__main__" and forking.becomes(_IMPORTED):
    transport._ANSWER_SECONDS = float(os.environ.get(ANSWER_SECONDS, transport._ANSWER_SECONDS))
    runpy.run_path(sys.argv[0], run_name="__main__")
