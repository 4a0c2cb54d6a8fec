"""Workers, operators and coordinators on the same runs lock rows in one order: Postgres never sees a deadlock."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count

import pytest
from sqlalchemy import text

from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import claim
from orchestrator.services.coordinate import tick
from orchestrator.services.engine import Settings
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.rerun import rerun
from orchestrator.services.retry import retry
from orchestrator.store.db import Database
from tests.documents import document, on, step
from tests.hands import LEASE, Hands, together
from tests.support import wait_for

pytestmark = pytest.mark.timeout(300)  # on a slow machine
DEADLINE = 250  # of all at once, and of who waits for another to make him work
WIDTH = 8
LAYERS = 4


def deadlocks(db: Database) -> int:
    with db.transaction() as conn:
        conn.execute(text("SELECT pg_stat_force_next_flush()"))
    with db.transaction() as conn:
        found = conn.scalar(text("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))
    return int(found or 0)


def dense(**keys: object) -> dict[str, object]:
    """Layers of steps, each of which depends on all of the layer before, in both orders of names."""
    steps = [step(f"0 {i}", function="chance") for i in range(WIDTH)]
    for layer in range(1, LAYERS):
        above = [f"{layer - 1} {i}" for i in range(WIDTH)]
        for i in range(WIDTH):
            edges = [on(name, "complete") for name in (above if i % 2 else reversed(above))]
            join = "any" if i % 3 == 0 else "all"
            published = {f"v{layer}": i} if i % 2 else {}
            steps.append(step(f"{layer} {i}", function="chance", depends_on=edges, join=join, publish=published))
    return document(*steps, **keys)


def worker(hands: Hands, is_over: Callable[[], bool]) -> None:
    """Take messages a few at a time until the runs are over."""
    while not is_over():
        messages = hands.outbox.take()
        for start in range(0, len(messages), 3):
            held = claim(hands.engine, messages[start : start + 3], LEASE)
            hands.settle_all([hands.perform(claimed) for claimed in held])
        if not messages:
            wait_for(lambda: hands.outbox.messages or is_over(), DEADLINE, what="work, or the end of the runs")


def chance() -> None:
    if random.random() < 0.15:
        raise RuntimeError("by chance")


def plain(i: int) -> dict[str, object]:
    """A graph whose successes follow no rule: layers of fans and joins, in an order of their own for each run."""
    names = [[f"{layer} {i}" for i in range(WIDTH)] for layer in range(LAYERS)]
    steps = [step(name, *(names[layer - 1] if layer else [])) for layer, row in enumerate(names) for name in row]
    return document(*random.Random(i).sample(steps, len(steps)))


def test_workers_that_settle_together_what_they_did_for_several_runs(db: Database) -> None:
    hands = Hands(db, settings=Settings(window=1000))
    runs = [hands.start(plain(i)) for i in range(12)]
    over = partial(_all_over, hands, runs)
    together([partial(worker, hands, over)] * 4, deadline=DEADLINE)
    assert deadlocks(db) == 0
    assert {hands.status(run) for run in runs} == {"succeeded"}


def test_workers_on_one_dense_graph(db: Database) -> None:
    hands = Hands(db, {"chance": chance}, Settings(window=1000))
    runs = [hands.start(dense(failure_mode=mode)) for mode in ("run_on", "run_on", "drain", "cancel")]
    over = partial(_all_over, hands, runs)
    together([partial(worker, hands, over)] * 4, deadline=DEADLINE)
    assert deadlocks(db) == 0


def test_workers_with_operators_and_coordinators_among_them(db: Database) -> None:
    hands = Hands(db, {"chance": chance}, Settings(window=1000, resend=0.05))
    retry_at_once = {"retry": {"max_attempts": 3, "delay": 0}}
    runs = [hands.start(dense(defaults=retry_at_once)) for _ in range(3)]
    over = partial(_all_over, hands, runs)
    turns = count()

    def operator() -> None:
        acts = (pause, resume, retry, resume)
        while not over():
            run_id = runs[next(turns) % len(runs)]
            for act in acts:
                try:
                    act(hands.engine, run_id)
                except Conflict:
                    continue
            if next(turns) > 60:
                for run in runs:
                    try:
                        cancel(hands.engine, run, force=True)
                    except Conflict:
                        continue

    def beat() -> None:
        while not over():
            tick(hands.engine)

    together([partial(worker, hands, over)] * 2 + [operator, beat, beat], deadline=DEADLINE)
    assert deadlocks(db) == 0


def test_workers_with_an_operator_who_marks_holds_and_reruns(db: Database) -> None:
    hands = Hands(db, {"chance": chance}, Settings(window=1000, resend=0.05))
    runs = [hands.start(dense()) for _ in range(3)]
    over = partial(_all_over, hands, runs)

    def step_of(layer: int) -> str:
        return f"{layer} {random.randrange(WIDTH)}"

    def operator() -> None:
        for turn in range(40):
            run_id, name = runs[turn % len(runs)], step_of(turn % LAYERS)
            for act in (
                partial(hold, hands.engine, run_id, name),
                partial(mark, hands.engine, run_id, step_of(LAYERS - 1), StepStatus.SKIPPED, force=True),
                partial(rerun, hands.engine, run_id, from_steps=name),
                partial(release, hands.engine, run_id, name),
                partial(mark, hands.engine, run_id, name, StepStatus.SUCCEEDED, output=1, force=True),
            ):
                try:
                    act()
                except Conflict:
                    continue

    def beat() -> None:
        while not over():
            tick(hands.engine)

    together([partial(worker, hands, over)] * 2 + [operator, operator, beat], deadline=DEADLINE)
    for run_id in runs:
        for layer in range(LAYERS):
            for i in range(WIDTH):
                with suppress(Conflict):
                    release(hands.engine, run_id, f"{layer} {i}")
    hands.work()
    assert _all_over(hands, runs)
    assert deadlocks(db) == 0


def _all_over(hands: Hands, runs: list[str]) -> bool:
    return all(hands.status(run_id) in ("succeeded", "failed", "canceled") for run_id in runs)
