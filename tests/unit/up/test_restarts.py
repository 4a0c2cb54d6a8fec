from __future__ import annotations

from orchestrator.up.restarts import Restarts


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def _delays(restarts: Restarts, clock: Clock, deaths: int) -> list[float | None]:
    found = []
    for _ in range(deaths):
        delay = restarts.died()
        found.append(delay)
        clock.seconds += delay or 0
        restarts.started()
    return found


def test_what_dies_again_and_again_waits_longer_each_time() -> None:
    clock = Clock()
    assert _delays(Restarts(clock), clock, 7) == [1, 2, 4, 8, 16, 30, 30]


def test_what_has_run_steadily_is_started_again_soon() -> None:
    clock = Clock()
    restarts = Restarts(clock)
    _delays(restarts, clock, 5)
    clock.seconds += 30
    assert restarts.died() == 1


def test_a_death_is_told_once() -> None:
    restarts = Restarts(Clock())
    assert restarts.died() == 1
    assert restarts.died() is None


def test_it_is_due_when_the_wait_is_over() -> None:
    clock = Clock()
    restarts = Restarts(clock)
    restarts.died()
    assert not restarts.due()
    clock.seconds = 1
    assert restarts.due()
    restarts.started()
    assert not restarts.due()
