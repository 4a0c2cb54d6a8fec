"""Debian's RabbitMQ: one node in a folder of its own, and the server of names that Erlang wants beside it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from orchestrator.embedded.ports import LOOPBACK
from tests.processes import unused_port
from tests.support import program, wait_for

_PROGRAM = "/usr/lib/rabbitmq/bin/rabbitmq-server"  # the one in PATH works for the system's own node only


@contextmanager
def rabbitmq(folder: Path) -> Iterator[str]:
    """The URL of an empty broker."""
    program("rabbitmq-server")
    port, names = unused_port(), unused_port()
    (folder / "plugins").write_text("[].")
    (folder / "node.conf").write_text(f"listeners.tcp.default = {LOOPBACK}:{port}\n")
    with ExitStack() as ended:
        for command in (["epmd", "-address", LOOPBACK, "-port", str(names)], [_PROGRAM]):
            ended.enter_context(_running(command, _environment(folder, names), folder / "rabbitmq.log"))
        wait_for(lambda: _listens(port), 180, what="RabbitMQ listens")
        yield f"amqp://guest:guest@{LOOPBACK}:{port}//"


def _environment(folder: Path, names: int) -> Mapping[str, str]:
    return {
        "PATH": os.defpath,
        "HOME": str(folder),
        "ERL_EPMD_PORT": str(names),
        "RABBITMQ_NODENAME": f"test-{names}@localhost",
        "RABBITMQ_DIST_PORT": str(unused_port()),
        "RABBITMQ_CONFIG_FILE": str(folder / "node"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder),
        "RABBITMQ_PID_FILE": str(folder / "pid"),
    }


@contextmanager
def _running(command: list[str], environment: Mapping[str, str], log: Path) -> Iterator[None]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, env=environment, cwd=log.parent, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((LOOPBACK, port)) == 0
