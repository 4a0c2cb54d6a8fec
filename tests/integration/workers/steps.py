"""Step functions for the tests of the workers, which load this module in their processes.

What happened when is written to the file `journal`, one line of JSON an event, for tests to read.
"""

from __future__ import annotations

import ctypes
import io
import json
import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

import structlog

from orchestrator import Fail, RetryLater, Skip, function
from orchestrator.context import AttemptContext
from orchestrator.errors import AttemptCanceled

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


@function(name="t.fail_until")
def fail_until(file: str) -> str:
    """Fails as long as the file does not exist."""
    if not Path(file).exists():
        raise RuntimeError(f"{Path(file).name} is missing")
    return "mended"


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
    try:
        note(journal, kind="start", step=ctx.step, attempt=ctx.attempt)
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


@function(name="t.first_fails")
def first_fails(ctx: AttemptContext) -> int:
    """The first attempt fails, later ones return."""
    if ctx.attempt == 1:
        raise RuntimeError("not at first")
    return ctx.attempt


@function(name="t.swallow")
def swallow(ctx: AttemptContext, journal: str, file: str) -> str:
    """Catches every exception, wherever in here it is raised, and goes on."""
    begun = over = False
    while not over:
        try:
            if not begun:
                note(journal, kind="start", step=ctx.step, attempt=ctx.attempt)
            begun = True
            until(file)
            over = True
        except Exception as error:  # noqa: BLE001 - this is what the tests are about
            note(journal, kind="swallowed", step=ctx.step, attempt=ctx.attempt, error=type(error).__name__)
    note(journal, kind="end", step=ctx.step, attempt=ctx.attempt)
    return "swallowed"


@function(name="t.hold_interpreter")
def hold_interpreter(ctx: AttemptContext, journal: str, pipe: str) -> int:
    """Keep the interpreter's lock until somebody opens the pipe, as a long call into C does; signals are not seen
    before its end."""
    note(journal, kind="start", step=ctx.step, attempt=ctx.attempt)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    ctypes.PyDLL(None).open(pipe.encode(), os.O_RDONLY)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    note(journal, kind="end", step=ctx.step, attempt=ctx.attempt)
    return ctx.attempt


@function(name="t.until_canceled")
def until_canceled(ctx: AttemptContext, journal: str, file: str, stays: str | None = None) -> str:
    """Look whether a cancel was asked for, and return when it was; with `stays` not before that file exists."""
    note(journal, kind="start", step=ctx.step, attempt=ctx.attempt)
    while not Path(file).exists():
        if ctx.canceled:
            note(journal, kind="saw cancel", step=ctx.step, attempt=ctx.attempt)
            if stays is not None:
                until(stays)
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


@function(name="t.tell")
def tell(word: str, file: str | None = None) -> None:
    """Say it in every way there is."""
    print(f"printed {word}\nbegun {word}", end="")  # noqa: T201
    logging.getLogger("shop").warning("logged %s", word, extra={"order": word, "odd": {1, 2}})
    structlog.get_logger("shop").info("told", word=word)
    thread = threading.Thread(target=logging.getLogger("shop").info, args=("thread %s", word))
    thread.start()
    thread.join()  # what it says after the attempt is nobody's
    structlog.contextvars.bind_contextvars(bound=word)
    if file is not None:
        until(file)
    logging.getLogger("shop").info("late %s", word)


@function(name="t.spoil_output")
def spoil_output(how: str) -> None:
    """Make the standard streams useless for whoever comes after."""
    if how == "close":
        sys.stdout.close()
        sys.stderr.close()
    if how == "replace":
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    if how == "remove":
        del sys.stdout, sys.stderr
    if how == "wrap":
        io.TextIOWrapper(sys.stdout.buffer).close()
    if how == "descriptors":
        os.close(1)
        os.close(2)


@function(name="t.fork")
def fork(ctx: AttemptContext, journal: str, how: str) -> int | str:
    """Both the process and a child of it come back; gives the exit code of the child."""
    pid = os.fork()
    if pid == 0:
        if how == "raise":
            raise ValueError("in the child")
        return "the child"
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    note(journal, kind="end", step=ctx.step, attempt=ctx.attempt)
    return code


@function(name="t.tell_secret")
def tell_secret(ctx: AttemptContext, secret: str, file: str) -> None:
    """Tell it as progress, and from a thread that goes on after the attempt until the file exists."""

    def go_on() -> None:
        while not Path(file).exists():
            print(f"told: {secret}")  # noqa: T201
            time.sleep(_STEP)

    threading.Thread(target=go_on, daemon=True).start()
    ctx.heartbeat({"doing": [secret, f"with {secret}"]})


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


class Faceless(Exception):
    """Will not say what it is."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("nobody")

    @__class__.setter
    def __class__(self, value: Any) -> None: ...


class Hurried(RetryLater):
    """Leaves out what its base would do."""

    def __init__(self) -> None:
        Exception.__init__(self, "soon")


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
        "ctrl-c": KeyboardInterrupt,
        "canceled": lambda: AttemptCanceled("by nobody"),
        "faceless": lambda: Faceless("here"),
        "hurried": Hurried,
        "fail": lambda: Fail("no more"),
        "skip": lambda: Skip("not today"),
        "generator exit": GeneratorExit,
        "surrogate": lambda: ValueError("\ud800 and \0"),
    }
    if how in errors:
        raise errors[how]()
    values = {"nan": float("nan"), "set": {1}, "nul": "a\0b", "bytes": b"x", "large": "x" * (20 << 20)}
    return values.get(how, ctx.attempt)
