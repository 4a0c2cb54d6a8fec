"""Step functions for the tests of the workers, which load this module in their processes.

What happened when is written to the file `journal`, one line of JSON an event, for tests to read.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from orchestrator import Fail, Skip, function
from orchestrator.context import AttemptContext

_STEP = 0.01


def note(journal: str, **event: Any) -> None:
    """Append an event; a line this short is written at once, whatever other processes write."""
    with open(journal, "a") as file:
        file.write(json.dumps({"at": time.monotonic(), "pid": os.getpid()} | event) + "\n")


def until(exists: str) -> None:
    """Wait for a file, in Python, so that signals reach the function."""
    while not Path(exists).exists():
        time.sleep(_STEP)


@function(name="t.add")
def add(a: int, b: int = 1) -> int:
    return a + b


@function(name="t.span")
def span(ctx: AttemptContext, journal: str, seconds: float = 0.0) -> int:
    """Note start and end; a span without an end was killed."""
    note(journal, kind="start", step=ctx.step, attempt=ctx.attempt)
    time.sleep(seconds)
    note(journal, kind="end", step=ctx.step, attempt=ctx.attempt)
    return ctx.attempt


@function(name="t.wait")
def wait(ctx: AttemptContext, journal: str, file: str) -> int:
    """Run until the file exists."""
    note(journal, kind="start", step=ctx.step, attempt=ctx.attempt)
    try:
        until(file)
    except BaseException as error:
        note(journal, kind="raised", step=ctx.step, attempt=ctx.attempt, error=type(error).__name__)
        raise
    note(journal, kind="end", step=ctx.step, attempt=ctx.attempt)
    return ctx.attempt


@function(name="t.mostly_short")
def mostly_short(ctx: AttemptContext, journal: str, file: str | None = None) -> int:
    """Returns at once, but with `file` its first attempt waits for that."""
    if file is not None:
        note(journal, kind="start", step=ctx.step, attempt=ctx.attempt)
        if ctx.attempt == 1:
            until(file)
    note(journal, kind="end", step=ctx.step, attempt=ctx.attempt)
    return ctx.attempt


@function(name="t.first_hangs")
def first_hangs(ctx: AttemptContext, journal: str, file: str) -> int:
    """The first attempt waits, later ones return."""
    note(journal, kind="start", step=ctx.step, attempt=ctx.attempt)
    if ctx.attempt == 1:
        until(file)
    note(journal, kind="end", step=ctx.step, attempt=ctx.attempt)
    return ctx.attempt


@function(name="t.swallow")
def swallow(ctx: AttemptContext, journal: str, file: str) -> str:
    """Catches every exception and goes on."""
    note(journal, kind="start", step=ctx.step, attempt=ctx.attempt)
    while not Path(file).exists():
        try:
            time.sleep(_STEP)
        except Exception as error:  # noqa: BLE001 - this is what the tests are about
            note(journal, kind="swallowed", step=ctx.step, attempt=ctx.attempt, error=type(error).__name__)
    note(journal, kind="end", step=ctx.step, attempt=ctx.attempt)
    return "swallowed"


@function(name="t.hold_interpreter")
def hold_interpreter(ctx: AttemptContext, journal: str, seconds: int) -> int:
    """Keep the interpreter's lock for seconds, as a long call into C does; signals are not seen before its end."""
    note(journal, kind="start", step=ctx.step, attempt=ctx.attempt)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    ctypes.PyDLL(None).sleep(seconds)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    note(journal, kind="end", step=ctx.step, attempt=ctx.attempt)
    return ctx.attempt


@function(name="t.until_canceled")
def until_canceled(ctx: AttemptContext, journal: str, file: str) -> str:
    """Look whether a cancel was asked for, and return when it was."""
    note(journal, kind="start", step=ctx.step, attempt=ctx.attempt)
    while not Path(file).exists():
        if ctx.canceled:
            note(journal, kind="saw cancel", step=ctx.step, attempt=ctx.attempt)
            return "cleaned up"
        time.sleep(_STEP)
    return "not canceled"


@function(name="t.progress")
def progress(ctx: AttemptContext, total: int) -> int:
    for done in range(1, total + 1):
        ctx.heartbeat({"done": done, "total": total})
    return total


@function(name="t.talk")
def talk(ctx: AttemptContext, word: str, file: str | None = None) -> None:
    print(f"out {word}")  # noqa: T201
    print(f"err {word}", file=sys.stderr)  # noqa: T201
    ctx.log.warning("ctx %s", word)
    logging.getLogger("shop").info("log %s", word)
    thread = threading.Thread(target=logging.getLogger("orchestrator.step").info, args=("thread %s", word))
    thread.start()
    thread.join()
    if file is not None:
        until(file)
        print(f"late {word}")  # noqa: T201


class Awkward(Exception):
    """Cannot be pickled, nor printed."""

    def __init__(self, lock: object) -> None:
        super().__init__(lock)
        self.lock = lock

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__

    def __reduce__(self) -> NoReturn:
        raise TypeError("not to be pickled")


@function(name="t.end")
def end(ctx: AttemptContext, how: str) -> Any:
    """End the attempt in one of many ways."""
    if how == "os._exit" and ctx.attempt == 1:
        os._exit(3)
    if how == "kill" and ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "segfault" and ctx.attempt == 1:
        ctypes.string_at(0)
    errors = {
        "awkward": lambda: Awkward(threading.Lock()),
        "sys.exit": lambda: SystemExit(4),
        "fail": lambda: Fail("no more"),
        "skip": lambda: Skip("not today"),
        "generator exit": GeneratorExit,
        "surrogate": lambda: ValueError("\ud800 and \0"),
    }
    if how in errors:
        raise errors[how]()
    values = {"nan": float("nan"), "set": {1}, "nul": "a\0b", "bytes": b"x", "large": "x" * (20 << 20)}
    return values.get(how, ctx.attempt)
