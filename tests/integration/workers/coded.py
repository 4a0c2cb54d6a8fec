"""Workflows that are functions, for a worker that loads this module."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from orchestrator import RetryPolicy, function, workflow
from tests.integration.workers.steps import note, until


@function(name="t.label")
def label(order: int) -> dict[str, int]:
    return {"label": order}


@workflow(name="fulfil", version="3")
def fulfil(ctx: Any, input: Any) -> Any:
    """Charge, label, and hang where a test can kill it."""
    ctx.log.info("charging %s", input["amount"])
    charge = ctx.step("charge", _charge, input["journal"], amount=input["amount"])
    label = ctx.call("t.label", {"order": 7}, retry=RetryPolicy(max_attempts=5))
    hung = ctx.step("hang", _hang, input["journal"], input["file"])
    return {"charge": charge, "label": label, "hung": hung, "ok": ctx.wait_event("approved", timeout=60)}


def _charge(journal: str, amount: int) -> int:
    note(journal, kind="charge", step="charge")
    print("charged", amount)  # noqa: T201
    return amount


def _hang(journal: str, file: str) -> str:
    note(journal, kind="hang", step="hang")
    if not Path(file).exists():
        until(file)
    return "over"


@workflow(name="endless", turn_timeout=0.5)
def endless(ctx: Any, input: Any) -> None:
    """Never waits for anything."""
    ctx.step("first", lambda: 1)
    while True:
        time.sleep(0.01)
