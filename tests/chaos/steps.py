"""Step functions of the chaos suite. Each call writes down that it begins and how it ends, in a file of its own kind:
one line an event, appended in one write, by a clock that all processes of the machine share and nothing sets.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from typing import Any

from orchestrator import RetryPolicy, function, workflow
from orchestrator.context import AttemptContext

JOURNAL = "CHAOS_JOURNAL"


def note(ctx: AttemptContext, kind: str) -> None:
    event = {"kind": kind, "run": ctx.run_id, "step": ctx.step, "item": ctx.item_index, "attempt": ctx.attempt}
    event |= {"key": ctx.idempotency_key, "pid": os.getpid(), "at": time.monotonic()}
    journal = os.open(os.environ[JOURNAL], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(journal, json.dumps(event).encode() + b"\n")
    finally:
        os.close(journal)


@function(name="c.work")
def work(
    ctx: AttemptContext,
    n: int = 1,
    of: Sequence[int] = (),
    seconds: float = 0.0,
    fails: int = 0,
    lines: int = 0,
    secret: str = "",
) -> dict[str, int]:
    """`n` and the sum of `of`; fails in its first `fails` attempts, lost ones counted. Logs `lines` lines."""
    note(ctx, "begin")
    for line in range(lines):
        ctx.log.info("line %d of attempt %d %s", line, ctx.attempt, secret)
    time.sleep(seconds)
    if ctx.attempt <= fails:
        note(ctx, "raise")
        raise RuntimeError(f"attempt {ctx.attempt} was to fail {secret}")
    note(ctx, "end")
    return {"n": n + sum(of)}


@workflow(name="code", version="1")
def code(ctx: Any, input: Any) -> dict[str, Any]:
    """Steps here and there, some at a time, a child, a nap and an event; the sum of all."""
    here = ctx.step("here", lambda: {"n": 1})
    there = ctx.call("c.work", {"n": 2, "seconds": 0.05}, name="there")
    each = ctx.map("c.work", [{"n": n} for n in range(input["count"])], concurrency=2)
    child = ctx.spawn_child("third", {})
    ctx.sleep(0.3)
    flaky = ctx.call("c.work", {"n": 3, "fails": 1}, name="flaky", retry=RetryPolicy(max_attempts=2, delay=0.1))
    told = ctx.wait_event("go")
    below = ctx.await_child(child)
    ctx.log.info("all is there")
    return {"n": sum(one["n"] for one in (here, there, flaky, *each)) + below, "told": told}


@function(name="c.big")
def big(ctx: AttemptContext, size: int, of: str | Sequence[str] = "") -> str:
    """Text of so many characters, which begins with the sum of the lengths it is given."""
    note(ctx, "begin")
    total = len(of) if isinstance(of, str) else sum(map(len, of))
    note(ctx, "end")
    return f"{total} ".ljust(size, "x")


@function(name="c.hog")
def hog(ctx: AttemptContext, megabytes: int) -> int:
    """Needs much memory for a moment."""
    note(ctx, "begin")
    size = len(bytearray(megabytes << 20))
    note(ctx, "end")
    return size


@function(name="c.odd")
def odd(ctx: AttemptContext) -> None:
    """Raises what cannot be pickled or printed."""
    note(ctx, "begin")
    note(ctx, "raise")
    raise Odd


class Odd(Exception):
    """Holds what nothing can hold, and cannot even be shown."""

    def __init__(self) -> None:
        super().__init__(lambda: None)

    def __reduce__(self) -> Any:
        raise TypeError("not to be pickled")

    def __str__(self) -> str:
        raise RuntimeError("not to be printed")
