"""Processes as tests see them."""

from __future__ import annotations

import os
import pwd
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from orchestrator.embedded.ports import free_port, next_free_port
from orchestrator.embedded.servers import Servers, _Kept


def family(process: psutil.Process) -> list[psutil.Process]:
    """The process and all its descendants, zombies left out."""
    return [one for one in (process, *process.children(recursive=True)) if runs(one)]


def runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def lives(pid: int) -> bool:
    """Whether the process of this number runs; it may be gone at any moment of the look."""
    try:
        return runs(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


def name_of(process: psutil.Process) -> str:
    """Empty for one that has gone."""
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return ""


def owner_of(process: psutil.Process) -> int | None:
    """The number of the user it runs as; None for one that has gone."""
    try:
        return int(process.uids().real)
    except psutil.NoSuchProcess:
        return None


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; empty for one that has gone."""
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:
        return []


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """Kill them as a crash would; some may end by themselves as others die."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def still_running(processes: Iterable[psutil.Process]) -> list[str]:
    """Those of the processes that have not ended, as text."""
    return [" ".join(words_of(one)) or str(one.pid) for one in processes if runs(one)]


def unused_port() -> int:
    """A port that nobody listens on, and that the system gives to nobody who asks for any, where it keeps some back."""
    given = Path("/proc/sys/net/ipv4/ip_local_port_range")
    kept = range(10_000, int(given.read_text().split()[0]) - 100 if given.exists() else 0)
    return next_free_port(random.SystemRandom().choice(kept)) if kept else free_port()


def keep_ports(servers: Servers) -> None:
    """Let servers that are not started yet have ports that nobody takes while they are down."""
    servers._folder.create()
    servers._keep(_Kept(ports={name: unused_port() for name in ("postgres", "valkey")}))


@dataclass(frozen=True)
class OtherUser:
    """How to start a process as `nobody`: arguments of `subprocess`, and a prefix of the command."""

    uid: int
    gid: int
    prefix: tuple[str, ...] = ()
    arguments: dict[str, Any] = field(default_factory=dict)

    def own(self, folder: Path) -> None:
        os.chown(folder, self.uid, self.gid)


@cache
def other_user() -> OtherUser | None:
    """`nobody`, for a test that runs as root; None when it cannot run this Python in any way."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam("nobody")
    plain = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    # A Python under /root, which nobody may enter: leave to root's powers what reading it needs, and no more.
    reading = (
        "setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups",
        "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search",
        "--bounding-set=-all,+dac_read_search",
    )  # fmt: skip
    ways = [OtherUser(entry.pw_uid, entry.pw_gid, (), plain)]
    if shutil.which("setpriv"):
        ways.append(OtherUser(entry.pw_uid, entry.pw_gid, reading))
    return next((way for way in ways if _can_run_python(way)), None)


def _can_run_python(way: OtherUser) -> bool:
    try:
        done = subprocess.run(
            [*way.prefix, sys.executable, "-c", "import orchestrator.errors"],
            check=False, capture_output=True, cwd="/", **way.arguments,
        )  # fmt: skip
    except OSError:
        return False
    return done.returncode == 0
