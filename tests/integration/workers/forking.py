"""A process that becomes what it is asked to be, again and again, in forks of itself: what was imported is there.

Imports nothing of ours. Run as a program it becomes workers of plain Celery, as `python -m celery ARGV` is one: one
JSON line asks, one answers.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import runpy
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_IMPORTED = (
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.concurrency.prefork",
    "celery.worker.consumer",
    "kombu.transport.redis",
)


def becomes(imported: Sequence[str]) -> bool:
    """Import these modules, then answer on the socket whose number is the program's argument. In each process that was
    forked, and became what it was asked to be: True."""
    for name in imported:
        importlib.import_module(name)
    asked_to_be = serve(socket.socket(fileno=int(sys.argv[1])))
    if asked_to_be is None:
        return False
    become(**asked_to_be)
    return True


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
    """A process of its own, in this folder and environment, that writes to `log`."""
    os.setsid()
    os.chdir(folder)
    nothing, output = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for fd, taken in enumerate((nothing, output, output)):
        os.dup2(taken, fd)
    os.environ.clear()
    os.environ.update(env)
    random.seed()
    sys.argv[:] = argv


if __name__ == "__main__" and becomes(_IMPORTED):
    sys.path[:1] = [os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    runpy.run_module("celery", run_name="__main__", alter_sys=True)
