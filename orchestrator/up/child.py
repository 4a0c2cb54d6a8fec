"""A child process of `up`: its output goes to a log file and, where it matters, to the console."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, Protocol

from orchestrator.embedded import Guardian
from orchestrator.embedded.server import ended
from orchestrator.errors import OrchestratorError
from orchestrator.up.console import Console

_LOG_BYTES = 10 << 20


class Filter(Protocol):
    """Decides, line by line, what a person sees."""

    def shows(self, line: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Spec:
    """What to run. `log` also keeps what is not shown."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    log: Path


class Child:
    """A process in a group of its own, so that a terminal's Ctrl-C reaches `up` alone, which stops it in order."""

    def __init__(self, spec: Spec, console: Console, guardian: Guardian, lines: Filter) -> None:
        self.spec = spec
        self._console = console
        self._guardian = guardian
        self._lines = lines
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it. Raises `OrchestratorError` when the program cannot be run."""
        try:
            self._process = subprocess.Popen(
                self.spec.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self.spec.env,
                start_new_session=True,
            )
        except OSError as error:
            raise OrchestratorError(f"cannot start {self.name}: {error}") from error
        self._guardian.add(self._process.pid, signal.SIGTERM)
        threading.Thread(target=self._follow, args=(self._process.stdout,), daemon=True).start()

    def ended(self) -> str:
        """How it ended, in words."""
        return ended(None if self._process is None else self._process.poll())

    def ask_to_stop(self) -> None:
        """Ask the process itself: a worker lets its pool finish what it has begun."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def wait(self, timeout: float) -> bool:
        """Wait for its end; whether it came."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True

    def finish(self) -> None:
        """Kill what is left of it, its own children included."""
        if self._process is None:
            return
        self._end_group(self._process.pid)
        self._process.wait()
        self._guardian.drop(self._process.pid)
        self._process = None

    def _end_group(self, group: int) -> None:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return

    def _follow(self, output: IO[bytes]) -> None:
        log = RotatingFileHandler(self.spec.log, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8")
        with output:
            for raw in output:
                line = raw.decode(errors="replace").rstrip()
                log.emit(logging.makeLogRecord({"msg": line}))
                if self._lines.shows(line):
                    self._console.child(self.name, line)
        log.close()
