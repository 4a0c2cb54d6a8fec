"""The steps of every workload: two clock reads, one small append to a file, a small result. Workers load this module.

The file is how it is known afterwards when each step ran, and that each ran once. `log` is its path without the
process id that ends it; a line is `run step start end seen`, times in nanoseconds of the monotonic clock, which
is one for all processes of the machine.
"""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Any

from orchestrator import function
from orchestrator.context import AttemptContext

MODULE = __name__


@function(name="bench.step")
def step(ctx: AttemptContext, log: str, run: int) -> dict[str, Any]:
    """A step that does nothing."""
    return _note(log, run, ctx.step, time.monotonic_ns())


@function(name="bench.item")
def item(ctx: AttemptContext, log: str, run: int) -> bool:
    """An item that does nothing. It returns less than a step does: the list of 100,000 of these can be stored."""
    _note(log, run, f"{ctx.step}[{ctx.item_index}]", time.monotonic_ns())
    return True


@function(name="bench.join")
def join(ctx: AttemptContext, log: str, run: int, results: list[Any]) -> dict[str, Any]:
    """A step that is handed the results of all steps before it, the run's first one among them, and counts the rest."""
    return _note(log, run, ctx.step, time.monotonic_ns(), str(len(results) - 1))


@function(name="bench.sleep")
def sleep(ctx: AttemptContext, log: str, run: int, seconds: float) -> dict[str, Any]:
    """A step that takes its time and no CPU."""
    start = time.monotonic_ns()
    time.sleep(seconds)
    return _note(log, run, ctx.step, start)


def _note(log: str, run: int, name: str, start: int, seen: str = "") -> dict[str, Any]:
    result = {"ok": True, "step": name}
    line = f"{run} {name} {start} {time.monotonic_ns()} {seen}\n"
    os.write(_file(log, os.getpid()), line.encode())
    return result


@cache
def _file(log: str, pid: int) -> int:
    """Open for as long as the process lives; a forked child has one of its own."""
    return os.open(f"{log}.{pid}", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
