"""Waiting for a run: often at first, then seldom, and through a restart of Postgres."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator.domain.states import RunStatus
from orchestrator.errors import NotFound, Unreachable
from orchestrator.ids import new_id
from orchestrator.services import wait as module
from orchestrator.services.wait import wait
from orchestrator.store.db import Database


class Clock:
    """Time that passes only in sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def answers(monkeypatch: pytest.MonkeyPatch, *given: RunStatus | Exception) -> None:
    """What each look at the status gives; the last one for ever."""
    left = list(given)

    def read_statuses(db: object, run_ids: Sequence[str]) -> dict[str, RunStatus]:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return dict.fromkeys(run_ids, answer)

    monkeypatch.setattr(module, "read_statuses", read_statuses)


def wait_with(clock: Clock, timeout: float | None = None) -> RunStatus:
    nowhere = Database.connect("postgresql+psycopg2://nobody@localhost/none")
    return wait(nowhere, new_id(), timeout, sleep=clock.sleep, clock=clock)


def test_the_looks_become_rarer_up_to_one_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, *[RunStatus.RUNNING] * 30, RunStatus.SUCCEEDED)
    clock = Clock()
    assert wait_with(clock) is RunStatus.SUCCEEDED
    assert clock.slept == sorted(clock.slept)
    assert clock.slept[0] < 0.05
    assert clock.slept[-1] == 1.0


def test_the_last_look_is_at_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, RunStatus.PAUSED)
    clock = Clock()
    with pytest.raises(TimeoutError, match="within 5 s"):
        wait_with(clock, 5)
    assert clock.now == pytest.approx(5)


def test_a_postgres_that_comes_back_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, RunStatus.RUNNING, *[Unreachable("gone")] * 40, RunStatus.RUNNING, RunStatus.FAILED)
    assert wait_with(Clock()) is RunStatus.FAILED


def test_a_postgres_that_stays_away_is_unreachable_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, RunStatus.RUNNING, Unreachable("gone"))
    clock = Clock()
    with pytest.raises(Unreachable, match="gone"):
        wait_with(clock)
    assert 60 < clock.now < 65


def test_a_run_that_is_not_there_is_not_waited_for(db: Database) -> None:
    with pytest.raises(NotFound):
        wait(db, new_id())
