"""Workers that take others of their queue as they settle: no deadlock, nothing done twice, nothing left to nobody."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import text

from orchestrator.errors import Conflict
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import Claimed, claim, claim_ready
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Settings
from orchestrator.services.pause import pause, resume
from orchestrator.services.settle_all import settle_all
from orchestrator.store.batch import Take
from orchestrator.store.db import Database
from orchestrator.store.transition import Queued
from tests.documents import Document, document, step
from tests.hands import LEASE, Hands, together
from tests.integration.engine.races.test_overlapping_work_never_deadlocks import DEADLINE, deadlocks
from tests.support import soaked, wait_for

pytestmark = pytest.mark.timeout(300)  # on a slow machine
RUNS = soaked(16, 60)
SHORT = ("ok",)


def mixed(i: int) -> Document:
    """Layers of fans and joins, some of whose steps are of a function that is not short, or have a priority."""
    choose = random.Random(i)
    names = [[f"{layer} {k}" for k in range(choose.randint(1, 3))] for layer in range(4)]
    steps = [
        step(
            name,
            *(names[layer - 1] if layer else []),
            function=choose.choice(("ok", "ok", "slow")),
            priority=choose.choice((0, 0, 5)),
        )
        for layer, row in enumerate(names)
        for name in row
    ]
    return document(*steps, name=f"w{i % 4}")


def worker(hands: Hands, is_over: Callable[[], bool]) -> None:
    """As a hand does: it goes on with what its settles give, and ends when there is nothing in it."""
    while not is_over():
        held = deque(claim(hands.engine, _fetched(hands), LEASE))
        while held:
            held.extend(_settle_some(hands, held))
        if not hands.outbox.messages:
            wait_for(lambda: hands.outbox.messages or is_over(), DEADLINE, what="work, or the end of the runs")


def _fetched(hands: Hands) -> list[Queued]:
    """One message; the others are left in the broker."""
    try:
        return [hands.outbox.messages.pop(0)]
    except IndexError:
        return []


def _settle_some(hands: Hands, held: deque[Claimed]) -> tuple[Claimed, ...]:
    done = [hands.perform(held.popleft()) for _ in range(min(len(held), random.randint(1, 3)))]
    take = Take(LEASE, "default", 10, SHORT, not held, random.randint(1, 9), look=random.random() < 0.5)
    settled = settle_all(hands.engine, done, take)
    assert settled.stale == frozenset()
    dispatch(hands.engine, settled.queues)
    if held or settled.next or settled.looked:
        return settled.next
    return tuple(claim_ready(hands.engine, take))


def _all_over(hands: Hands, runs: list[str]) -> bool:
    found = text("SELECT count(*) FROM workflow_runs WHERE id = ANY (:ids ::uuid[]) AND finished_at IS NULL")
    with hands.db.transaction() as conn:
        return not conn.execute(found, {"ids": runs}).scalar_one()


@pytest.mark.parametrize("operated", [False, True])
def test_runs_come_to_their_ends_without_a_coordinator(db: Database, operated: bool) -> None:
    hands = Hands(db, {"slow": lambda: None}, Settings(window=3))
    runs = [hands.start(mixed(i)) for i in range(RUNS)]
    over = partial(_all_over, hands, runs)

    def operator() -> None:
        for turn in range(2 * RUNS):
            act = cancel if turn % 9 == 0 else pause if turn % 2 else resume
            for run_id in (runs[turn % RUNS], runs[(turn - 1) % RUNS]):
                try:
                    act(hands.engine, run_id)
                except Conflict:
                    continue
        for run_id in runs:
            try:
                resume(hands.engine, run_id)
            except Conflict:
                continue

    together([partial(worker, hands, over)] * 4 + [operator] * operated, deadline=DEADLINE)
    assert deadlocks(db) == 0
    for run_id in runs:
        assert sum(Counter(hands.events(run_id))[f"run.{end}"] for end in ("succeeded", "failed", "canceled")) == 1
        assert all(len(row["history"]) <= 1 for row in hands.steps(run_id).values())
    assert operated or {hands.status(run_id) for run_id in runs} == {"succeeded"}
