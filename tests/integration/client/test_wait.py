"""Waiting for a run: often at first, then seldom, and through a restart of Postgres."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from orchestrator.domain.states import RunStatus
from orchestrator.errors import NotFound, Unreachable
from orchestrator.ids import new_id
from orchestrator.services import wait as module
from orchestrator.services.wait import wait, wait_many
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


class Runs:
    """Many runs, and how many each look was at; `then` comes after each look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        self.ids = [new_id() for _ in range(count)]
        self.now = dict.fromkeys(self.ids, RunStatus.RUNNING)
        self.looks: list[int] = []
        self.clock = Clock()
        self.then: Callable[[int], None] = lambda looks: None
        monkeypatch.setattr(module, "read_statuses", self._read)

    def _read(self, db: object, run_ids: Sequence[str]) -> dict[str, RunStatus]:
        self.looks.append(len(run_ids))
        found = {run_id: self.now[run_id] for run_id in run_ids}
        self.then(len(self.looks))
        return found

    def end(self, start: int, stop: int, status: RunStatus = RunStatus.SUCCEEDED) -> None:
        self.now |= dict.fromkeys(self.ids[start:stop], status)

    def wait(self, timeout: float | None = None) -> dict[str, RunStatus]:
        nowhere = Database.connect("postgresql+psycopg2://nobody@localhost/none")
        return wait_many(nowhere, self.ids, timeout, sleep=self.clock.sleep, clock=self.clock)


def test_of_many_runs_a_portion_is_asked_for_until_all_of_it_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, 250)
    ends = {3: (0, 99), 4: (99, 230), 6: (230, 250)}
    runs.then = lambda looks: runs.end(*ends.get(looks, (0, 0)))
    assert runs.wait() == dict.fromkeys(runs.ids, RunStatus.SUCCEEDED)
    assert list(runs.wait()) == runs.ids
    assert runs.looks == [250, 100, 100, 100, 100, 51, 20, 250, 250]


def test_one_of_many_that_is_opened_again_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, 250)

    def then(looks: int) -> None:
        if looks == 1:
            runs.end(0, 1, RunStatus.FAILED)
        elif looks == 2:
            runs.end(0, 250)
            runs.end(0, 1, RunStatus.RUNNING)
        elif len(runs.looks) > 8:
            runs.end(0, 1)

    runs.then = then
    assert runs.wait() == dict.fromkeys(runs.ids, RunStatus.SUCCEEDED)


def test_a_timeout_tells_how_many_of_all_runs_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, 250)
    runs.then = lambda looks: runs.end(10, 120)
    with pytest.raises(TimeoutError, match="140 runs have not ended within 2 s; they go on"):
        runs.wait(2)
    assert runs.looks[-1] == 250


def test_a_run_named_twice_is_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, 1)
    runs.ids *= 2
    with pytest.raises(TimeoutError, match=f"run {runs.ids[0]} has not ended"):
        runs.wait(1)
    runs.end(0, 1)
    assert runs.wait() == {runs.ids[0]: RunStatus.SUCCEEDED}


def test_no_runs_have_ended_at_once(db: Database) -> None:
    assert wait_many(db, []) == {}
