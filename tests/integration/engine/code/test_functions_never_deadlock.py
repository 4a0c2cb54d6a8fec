"""Workers, operators and events meet on one run of a function; whatever comes of it, it comes to an end."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, NotFound, StepFailed
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.retry import retry
from orchestrator.services.signal import signal
from orchestrator.store.db import Database
from tests.coding import Coders, paused
from tests.hands import together
from tests.support import soaked


@pytest.fixture
def coders(module_db: Database) -> Coders:
    return Coders(module_db, {"double": lambda n: 2 * n, "broken": _broken})


def _broken() -> None:
    raise ValueError("no luck")


def _work(ctx: Any, input: Any) -> Any:
    child = ctx.spawn_child("leaf", 3)
    doubled = ctx.map("double", [{"n": n} for n in range(6)], concurrency=2)
    with suppress(StepFailed):
        ctx.call("broken")
    ctx.step("here", lambda: 1)
    return [doubled, ctx.wait_event("go", timeout=60, default="late"), ctx.gather(child, return_errors=True) != []]


def _acts(coders: Coders, run_id: str) -> list[Callable[[], Any]]:
    engine = coders.engine
    return [
        partial(pause, engine, run_id),
        partial(resume, engine, run_id),
        partial(cancel, engine, run_id, force=True),
        partial(cancel, engine, run_id, force=False),
        partial(retry, engine, run_id),
        partial(signal, engine, run_id, "go", 1),
        partial(mark, engine, run_id, "double#3", StepStatus.SKIPPED, force=True),
        partial(tick, engine),
    ]


def _act(acts: list[Callable[[], Any]]) -> None:
    for act in random.sample(acts, 3):
        with suppress(Conflict, NotFound):  # that it does not fit how the run stands by then is no surprise
            paused(act)()


@pytest.mark.parametrize("number", range(soaked(4, 200)))
def test_workers_and_operators_at_one_run_never_deadlock(coders: Coders, number: int) -> None:
    coders.know(lambda ctx, input: ctx.call("double", {"n": input}), "leaf")
    run_id = coders.begin(_work)
    acts = _acts(coders, run_id)
    together([coders.work, paused(coders.work), partial(_act, acts), partial(_act, acts)])
    for act in (partial(resume, coders.engine, run_id), partial(signal, coders.engine, run_id, "go", 2)):
        with suppress(Conflict):
            act()
    run = coders.finish(run_id)
    assert run["status"] in ("succeeded", "canceled")
    if run["status"] == "canceled":
        retry(coders.engine, run_id)
        with suppress(Conflict):
            signal(coders.engine, run_id, "go", 3)
        run = coders.finish(run_id)
    assert run["output"][1] in (1, 2, 3)
    assert len(run["output"][0]) == 6
