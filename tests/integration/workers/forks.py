"""Workers and beats forked from one process that has imported what they import: half of what a start costs.

`Forks.start` is what `python launch.py ARGV` is, and `Forked` what `subprocess.Popen` is of it. The real start is
tested in test_launch.py and test_up.py. Run as a program it is that process: one JSON line asks, one answers.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.up import launch
from tests.support import wait_for

ROOT = Path(__file__).resolve().parents[3]
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

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            program = [sys.executable, "-m", __name__, str(theirs.fileno())]
            self._process = subprocess.Popen(program, cwd=ROOT, pass_fds=[theirs.fileno()], start_new_session=True)
        self._answers = self._socket.makefile()

    def start(self, argv: Sequence[str], env: Mapping[str, str], log: Path, folder: Path = ROOT) -> Forked:
        """A process of launch.py with these arguments, in a folder, that writes to `log`."""
        return Forked(self, self.ask(argv=list(argv), env=dict(env), log=str(log), folder=str(folder)))

    def ask(self, **question: Any) -> Any:
        self._socket.sendall(json.dumps(question).encode() + b"\n")
        return json.loads(self._answers.readline())

    def close(self) -> None:
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


def serve(asked: socket.socket) -> dict[str, Any] | None:
    """Answer until nobody asks: None then, and in what was forked what it was asked to be."""
    ends: dict[int, int | None] = {}
    for question in map(json.loads, asked.makefile()):
        if "ended" in question:
            answer = _end(ends, question["ended"])
        elif answer := os.fork():
            ends[answer] = None
        else:
            asked.close()
            return dict(question)
        asked.sendall(json.dumps(answer).encode() + b"\n")
    for pid in [pid for pid in ends if _end(ends, pid) is None]:
        os.killpg(pid, signal.SIGKILL)
    return None


def _end(ends: dict[int, int | None], pid: int) -> int | None:
    """The exit code; None while it runs."""
    if ends[pid] is None:
        ended, status = os.waitpid(pid, os.WNOHANG)
        ends[pid] = os.waitstatus_to_exitcode(status) if ended else None
    return ends[pid]


def become(argv: Sequence[str], env: Mapping[str, str], log: str, folder: str) -> None:
    """Be what starting launch.py makes."""
    os.setsid()
    os.chdir(folder)
    nothing, output = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for fd, taken in enumerate((nothing, output, output)):
        os.dup2(taken, fd)
    os.environ.clear()
    os.environ.update(env)
    random.seed()
    sys.argv[:] = [str(launch.__file__), *argv]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    for name in _IMPORTED:
        importlib.import_module(name)
    asked_to_be = serve(socket.socket(fileno=int(sys.argv[1])))
    if asked_to_be:
        become(**asked_to_be)
