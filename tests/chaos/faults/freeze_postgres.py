"""Postgres, with all its sessions, stands still for a moment."""

from __future__ import annotations

import signal
from contextlib import suppress

import psutil

from tests.chaos.world import World


def freeze_postgres(world: World) -> None:
    server = psutil.Process(world.servers.pids["postgres"])
    stopped = [server, *server.children()]
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGSTOP)
    world.last(0.5, 2)
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGCONT)
