"""Workers, operators and coordinators on the items of several runs: no deadlock, and counts that are right."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from orchestrator.errors import Conflict
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.engine import Settings
from orchestrator.services.pause import pause, resume
from orchestrator.services.retry import retry
from orchestrator.store.db import Database
from tests.documents import Document, document, step
from tests.hands import Hands, together
from tests.integration.engine.items.counts import check_items
from tests.integration.engine.races.test_overlapping_work_never_deadlocks import DEADLINE, _all_over, deadlocks, worker

pytestmark = pytest.mark.timeout(300)  # on a slow machine
ACTS = (pause, resume, retry, partial(cancel, force=False), partial(cancel, force=True))


def chance() -> None:
    if random.random() < 0.1:
        raise RuntimeError("by chance")


def fans(mode: str, **keys: object) -> Document:
    """A step with items between steps without, beside a failing one."""
    items = {"items": "{{ range(25) | list }}", "concurrency": 7, "max_failures": 3, "fail_fast": True}
    each = step("each", "first", function="chance", with_items=items, **keys)
    beside = step("beside", "first", function="chance")
    return document(step("first"), each, beside, step("join", "each", "beside"), failure_mode=mode)


PUBLISH = {"publish": {"all": "{{ result }}"}}


@pytest.mark.parametrize("keys", [{}, PUBLISH], ids=["in one statement", "by the rules"])
def test_workers_operators_and_coordinators_on_items(db: Database, keys: dict[str, object]) -> None:
    hands = Hands(db, {"chance": chance}, Settings(window=1000, resend=0.05))
    runs = [hands.start(fans(mode, **keys)) for mode in ("run_on", "drain", "cancel") for _ in range(2)]
    over = partial(_all_over, hands, runs)
    resumed = threading.Event()

    def act(act: Callable[..., object], run_id: str) -> None:
        with suppress(Conflict):  # that the run has ended by then, or is paused, is no surprise
            act(hands.engine, run_id)

    def operator() -> None:
        for _ in range(40):
            act(random.choice(ACTS), random.choice(runs))
        for run_id in runs:
            act(resume, run_id)
        resumed.set()

    def beat() -> None:
        while not over() or not resumed.is_set():
            tick(hands.engine)

    together([partial(worker, hands, lambda: over() and resumed.is_set())] * 2 + [operator, beat], deadline=DEADLINE)
    assert deadlocks(db) == 0
    for run_id in runs:
        check_items(db, run_id, 7)
