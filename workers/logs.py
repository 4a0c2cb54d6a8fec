"""What a step function prints and logs, gathered by attempt.

Each process replaces `sys.stdout` and `sys.stderr` once by streams that pass everything on and hand a copy to the
attempt that runs in the current context, and adds a handler to the root logger that does the same. What a function's
child processes write to inherited file descriptors goes to the worker's own output only.

A function may do to these streams what it likes, close them or put others in their place, and nobody may be reading
what they pass on: neither is to cost another function its lines or its success.
"""

from __future__ import annotations

import contextvars
import logging
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TextIO

from structlog.contextvars import clear_contextvars

from orchestrator.domain.masking import NOTHING_SECRET, Masker
from orchestrator.domain.values import clean_text
from orchestrator.store.logs import LogLine
from workers.printed import Printed

LINE_CHARACTERS = 16_384
ATTEMPT_LINES = 10_000
ATTEMPT_CHARACTERS = 10_000_000
_PRINTED = {"stdout": "INFO", "stderr": "WARNING"}
_OWN = "orchestrator.step"
_CUT = "... (the rest was cut)"
# Of the worker's own output: its pipe is gone, its disk full, its file closed, or its encoding lacks a character. The
# attempt has its line all the same, and there is nowhere left to tell of it.
_UNREAD = (OSError, ValueError)


class About(Protocol):
    """An attempt, as the log names it."""

    def facts(self) -> Mapping[str, Any]: ...


class Capture:
    """The lines of one attempt: bounded, cleaned of what Postgres cannot hold, and of secrets. Thread-safe."""

    def __init__(self, masker: Masker = NOTHING_SECRET, subject: About | None = None) -> None:
        self.masker, self.subject = masker, subject
        self._printed: Printed | None = None
        self._lines: list[LogLine] = []
        self._begun = dict.fromkeys(_PRINTED, "")
        self._kept = self._characters = self._dropped = 0
        self._lock = threading.RLock()

    def write(self, stream: str, text: str) -> None:
        """Text printed to `stream`, which may end in the middle of a line."""
        with self._lock:
            *lines, rest = (self._begun[stream] + self.masker.text(text)).split("\n")
            for line in lines:
                self._add(stream, _PRINTED[stream], _overwritten(line))
            # A progress bar draws over its line; what nobody can see any more is not kept.
            self._begun[stream] = rest if len(rest) <= LINE_CHARACTERS else _overwritten(rest)[: LINE_CHARACTERS + 1]

    def log(self, level: str, message: str) -> None:
        """A logged message, of one or more lines."""
        with self._lock:
            self._add("log", level, message)

    @property
    def printed(self) -> Printed:
        """Where what it prints is told, where that is told line by line."""
        with self._lock:
            if self._printed is None:
                self._printed = Printed()
            return self._printed

    def finish_printed(self) -> None:
        if self._printed is not None:
            self._printed.finish()

    def take(self) -> list[LogLine]:
        """The whole lines so far, which are then no longer here."""
        with self._lock:
            lines, self._lines = self._lines, []
            return lines

    def put_back(self, lines: Sequence[LogLine]) -> None:
        """Lines that were taken and could not be stored."""
        with self._lock:
            self._lines = [*lines, *self._lines]

    def finish(self) -> list[LogLine]:
        """What is left at the end: the last lines, whether ended or not, and how many there was no room for."""
        with self._lock:
            for stream, rest in self._begun.items():
                if rest:
                    self.write(stream, "\n")
            lines = self.take()
            if self._dropped:
                lines.append(_line("log", "WARNING", f"{self._dropped} more lines were not kept"))
            return lines

    def _add(self, stream: str, level: str, text: str) -> None:
        if self._kept >= ATTEMPT_LINES or self._characters >= ATTEMPT_CHARACTERS:
            self._dropped += 1
            return
        message = clean_text(_bounded(self.masker.text(text)), 2 * LINE_CHARACTERS)
        self._kept += 1
        self._characters += len(message)
        self._lines.append(_line(stream, level, message))


def _line(stream: str, level: str, message: str) -> LogLine:
    return LogLine(datetime.now(UTC), stream, level, message)


def _overwritten(line: str) -> str:
    """What a terminal shows of a line with carriage returns."""
    return line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line


def _bounded(text: str) -> str:
    return text if len(text) <= LINE_CHARACTERS else text[:LINE_CHARACTERS] + _CUT


@dataclass(slots=True)
class _Process:
    """What holds for all attempts of this process."""

    masker: Masker = NOTHING_SECRET  # of all its secrets
    tees: dict[str, Tee] = field(default_factory=dict)


_process = _Process()
_here: contextvars.ContextVar[Capture | None] = contextvars.ContextVar("orchestrator_capture", default=None)
_NOBODY = Capture()
# In a process that runs one attempt at a time, the threads its function starts belong to that attempt too.
_only: list[Capture] = []


def current() -> Capture | None:
    """The capture of the attempt this code runs in."""
    capture = _here.get()
    if capture is None:
        return _only[-1] if _only else None
    return None if capture is _NOBODY else capture


def masker() -> Masker:
    """What hides the secrets of the attempt this code runs in, or else all that this process has."""
    capture = current()
    return _process.masker if capture is None else capture.masker


class Captured:
    """While entered, what is printed and logged goes to `capture`. `alone`: the process has no other attempt."""

    def __init__(self, capture: Capture, *, alone: bool) -> None:
        self._capture, self._alone = capture, alone
        self._reset: contextvars.Token[Capture | None] | None = None

    def start(self) -> None:
        self._reset = _here.set(self._capture)
        if self._alone:  # else a stream in our place may be one that another attempt uses right now
            _only.append(self._capture)
            _put_back_tees()

    def stop(self) -> None:
        """Does no harm twice."""
        reset, self._reset = self._reset, None
        if reset is not None:
            self._capture.finish_printed()
            clear_contextvars()  # what this attempt has bound is not for the next
            _here.reset(reset)
        if self._capture in _only:
            _only.remove(self._capture)


class Output:
    """The process' own output: open whoever closes it, and nobody's failure if it goes nowhere."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: Any) -> int:
        with suppress(*_UNREAD):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(*_UNREAD):
            self._stream.flush()

    def close(self) -> None:
        """Nothing."""

    def detach(self) -> Any:
        return self.buffer

    @property
    def buffer(self) -> Any:
        return Output(self._stream.buffer)  # a wrapper around it closes it as it is collected

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Tee(Output):
    """A standard stream that hands a copy of what is written to the attempt that writes it."""

    def __init__(self, name: str, stream: TextIO) -> None:
        super().__init__(stream)
        self._name, self._printed = name, Printed()

    def write(self, text: str) -> int:
        capture = current()
        if capture is not None:
            capture.write(self._name, text)
        if Printed.handler is None:
            super().write(masker().text(text))
        else:
            (self._printed if capture is None else capture.printed).write(self._name, text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)


def _put_back_tees() -> None:
    """Undo what a function before did to `sys.stdout` and `sys.stderr`."""
    for name, tee in _process.tees.items():
        if getattr(sys, name, None) is not tee:
            setattr(sys, name, tee)


class Handler(logging.Handler):
    """Hands what an attempt logs to its capture."""

    def emit(self, record: logging.LogRecord) -> None:
        capture = current()
        if capture is None:
            return
        try:
            message = _of_structlog(record.msg) if isinstance(record.msg, dict) else self.format(record)
        except Exception:  # noqa: BLE001 - a log call with wrong arguments must not fail the step
            self.handleError(record)
            return
        shown = message if record.name.startswith(_OWN) else f"{record.name}: {message}"
        capture.log(record.levelname, shown)


def _of_structlog(line: dict[str, Any]) -> str:
    """Its words, and what they are given with."""
    pairs = "".join(f" {name}={value}" for name, value in line.items() if name not in ("event", "exc_info", "stack"))
    return f"{line.get('event', '')}{pairs}"


def hide(secrets: Masker) -> None:
    """From here on what this process logs is without its secrets."""
    _process.masker = secrets


def install(secrets: Masker) -> None:
    """Begin to capture in this process, which has these secrets. Does no harm twice."""
    hide(secrets)
    for name in _PRINTED:
        if name not in _process.tees:
            _process.tees[name] = Tee(name, getattr(sys, name))
    _put_back_tees()
    root = logging.getLogger()
    if not any(isinstance(handler, Handler) for handler in root.handlers):
        root.addHandler(Handler())


def uncaptured() -> None:
    """From here on nothing this thread prints or logs belongs to an attempt."""
    _here.set(_NOBODY)
