"""One embedded server process."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from orchestrator.embedded.account import Account, run_as
from orchestrator.embedded.errors import ServerFailed, log_tail
from orchestrator.embedded.guardian import Guardian

_LOG_LIMIT = 10 << 20
_POLL_SECONDS = 0.01
# No PG* or locale variable of the caller may change what the server does.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class Server:
    """A running server in a process group of its own, so that a terminal's Ctrl-C does not reach it."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    stop_signal: signal.Signals

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def ended(self) -> str:
        """How it ended, in words."""
        return ended(self.process.poll())

    def stop(self, timeout: float) -> None:
        """Ask it to end; kill its group when it has not after `timeout` seconds."""
        if self.alive:
            self.process.send_signal(self.stop_signal)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def wait_ready(self, ready: Callable[[], bool], timeout: float) -> None:
        """Wait until `ready()`; raises `ServerFailed` with the end of the log when the server ends or is too slow."""
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.alive:
                raise ServerFailed(
                    f"{self.name} ended while starting (exit code {self.process.returncode}); {self._said()}"
                )
            if time.monotonic() > deadline:
                self.stop(1)
                raise ServerFailed(f"{self.name} was not ready after {timeout:g} seconds; {self._said()}")
            time.sleep(_POLL_SECONDS)

    def _said(self) -> str:
        return f"the end of {self.log}:{log_tail(self.log)}"


def ended(code: int | None) -> str:
    """An exit code in words."""
    return f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"


def launch(
    name: str,
    command: Sequence[str],
    *,
    log: Path,
    stop_signal: signal.Signals,
    cwd: Path,
    account: Account | None = None,
    given: bytes = b"",
    guardian: Guardian | None = None,
) -> Server:
    """Start a server, its output appended to `log`, `given` as its standard input; `guardian` watches over it.

    Raises `ServerFailed`.
    """
    with open_log(log) as output:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=ENVIRONMENT,
                start_new_session=True,
                **run_as(account),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise ServerFailed(f"cannot start {name}: {error}") from error
    if guardian is not None:
        guardian.add(process.pid, stop_signal)
    _give(process, given)
    return Server(name, process, log, stop_signal)


def open_log(log: Path) -> IO[Any]:
    """The log, opened to append; set aside as `.1` when it has grown large."""
    if log.exists() and log.stat().st_size > _LOG_LIMIT:
        log.replace(log.with_suffix(log.suffix + ".1"))
    return log.open("ab")


def _give(process: subprocess.Popen[bytes], given: bytes) -> None:
    if process.stdin is None:
        return
    try:
        process.stdin.write(given)
        process.stdin.close()
    except BrokenPipeError:  # it ended at once; `wait_ready` says so with its log
        process.stdin = None
