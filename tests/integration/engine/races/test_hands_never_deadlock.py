"""Workers that take from their queue as they settle, with all that others do to the same runs: no deadlock ever."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict
from orchestrator.services.cancel import cancel
from orchestrator.services.check import check
from orchestrator.services.claim import Claimed, claim
from orchestrator.services.coordinate import tick
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Settings
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.rerun import rerun
from orchestrator.services.retry import retry
from orchestrator.services.settle_all import settle_all
from orchestrator.store.batch import Take
from orchestrator.store.db import Database
from tests.hands import LEASE, Hands, together
from tests.integration.engine.races.test_overlapping_work_never_deadlocks import (
    LAYERS,
    WIDTH,
    chance,
    deadlocks,
    dense,
    plain,
)
from tests.support import soaked, wait_for

OPEN = 12
SECONDS = soaked(1, 600)
FUNCTIONS = ["ok", "chance"]


class Field:
    """The runs that are worked on: others begin as long as there is time, which counts from when the first have."""

    def __init__(self, hands: Hands) -> None:
        self.hands, self.ends = hands, time.monotonic() + SECONDS + 60
        self.runs: list[str] = []

    def is_time(self) -> bool:
        return time.monotonic() < self.ends

    def open_runs(self) -> list[str]:
        return [run for run in self.runs[-4 * OPEN :] if not self._over(run)]

    def _over(self, run: str) -> bool:
        return self.hands.status(run) in ("succeeded", "failed", "canceled")

    def start(self) -> None:
        """Keep so many runs open."""
        self._begin()
        self.ends = time.monotonic() + SECONDS
        while self.is_time():
            wait_for(lambda: len(self.open_runs()) < OPEN or not self.is_time(), SECONDS + 30, what="an end")
            self._begin()

    def _begin(self) -> None:
        """As many as are missing, of overlapping fans and joins; a fan in four has no rule to follow."""
        modes = ("run_on", "drain", "cancel")
        for i in range(OPEN - len(self.open_runs())):
            graph = plain(i) if random.random() < 0.25 else dense(failure_mode=random.choice(modes))
            self.runs.append(self.hands.start(graph))

    def operate(self) -> None:
        """Whatever an operator may do, to any open run, at any moment."""
        while self.is_time():
            runs = self.open_runs()
            if runs:
                with suppress(Conflict):
                    self._act(random.choice(runs))

    def _act(self, run: str) -> None:
        engine, name = self.hands.engine, f"{random.randrange(LAYERS)} {random.randrange(WIDTH)}"
        acts: list[Callable[[], object]] = [
            partial(pause, engine, run),
            partial(resume, engine, run),
            partial(retry, engine, run),
            partial(cancel, engine, run, force=random.random() < 0.3),
            partial(hold, engine, run, name),
            partial(release, engine, run, name),
            partial(rerun, engine, run, from_steps=name),
            partial(mark, engine, run, name, StepStatus.SUCCEEDED, output=1, force=True),
        ]
        random.choices(acts, (4, 8, 2, 1, 2, 8, 1, 1))[0]()

    def coordinate(self) -> None:
        while self.is_time():
            tick(self.hands.engine)

    def work(self) -> None:
        """One process: as workers/executor.py, a few at a time, and it takes what it wants as it settles."""
        waiting: deque[Claimed] = deque()
        while self.is_time() or waiting:
            if not waiting:
                waiting.extend(claim(self.hands.engine, self.hands.outbox.take(), LEASE))
            done = [self.hands.perform(waiting.popleft()) for _ in range(min(len(waiting), random.randint(1, 12)))]
            if not done:
                dispatch(self.hands.engine, ["default"])
                continue
            take = Take(LEASE, "default", 20, FUNCTIONS, not waiting, more=9, look=random.random() < 0.5)
            settled = settle_all(self.hands.engine, done, take if self.is_time() else None)
            waiting.extend(settled.next)
            dispatch(self.hands.engine, settled.queues)

    def finish(self) -> None:
        """Undo what an operator left, and bring every run to its end."""
        for run in [run for run in self.runs if not self._over(run)]:
            for layer in range(LAYERS):
                for i in range(WIDTH):
                    with suppress(Conflict):
                        release(self.hands.engine, run, f"{layer} {i}")
            with suppress(Conflict):
                resume(self.hands.engine, run)
        self.hands.work()
        tick(self.hands.engine)
        self.hands.work()


@pytest.mark.timeout(SECONDS + 300)
def test_hands_that_take_as_they_settle_among_operators_and_coordinators(db: Database) -> None:
    hands = Hands(db, {"chance": chance}, Settings(window=50, resend=0.5))
    field = Field(hands)
    acts = [field.start, field.work, field.work, field.work, field.work, field.operate, field.operate, field.coordinate]
    together(acts, deadline=SECONDS + 120)
    field.finish()
    assert len(field.runs) >= OPEN
    assert field.open_runs() == []
    assert deadlocks(db) == 0
    assert check(db, processes=False).findings == []
