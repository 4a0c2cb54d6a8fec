"""A log is followed without missing or repeating a line."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.services.tail import Tail
from orchestrator.store.reads import Page


class Log:
    """Lines as they become visible; pages of three."""

    def __init__(self) -> None:
        self.visible: set[int] = set()
        self.now = 0.0
        self.fetched_after: list[int] = []

    def fetch(self, after: int) -> Page:
        self.fetched_after.append(after)
        ids = sorted(id for id in self.visible if id > after)
        items: list[dict[str, Any]] = [{"id": id} for id in ids[:3]]
        return Page(items, str(items[-1]["id"]) if len(ids) > 3 else None)

    def tail(self) -> Tail:
        return Tail(self.fetch, lambda: self.now)


def read(tail: Tail) -> list[int]:
    return [line["id"] for line in tail.read()]


def test_a_line_that_shows_up_after_one_with_a_higher_id_is_not_missed() -> None:
    log = Log()
    tail = log.tail()
    log.visible = {1, 2, 5}
    assert read(tail) == [1, 2, 5]
    log.visible |= {3, 4, 6}
    assert read(tail) == [3, 4, 6]


def test_settled_lines_are_not_read_again() -> None:
    log = Log()
    tail = log.tail()
    log.visible = {1, 2}
    for _ in range(3):
        read(tail)
        log.now += 60
    assert log.fetched_after == [0, 0, 2]


def test_a_long_log_is_remembered_in_bounded_memory() -> None:
    log = Log()
    tail = Tail(lambda after: _numbers(after, 30_000), lambda: log.now)
    assert sum(1 for _ in tail.read()) == 30_000
    assert len(tail._seen) <= 11_000


def _numbers(after: int, last: int) -> Page:
    ids = range(after + 1, min(after + 1000, last) + 1)
    return Page([{"id": id} for id in ids], str(ids[-1]) if len(ids) and ids[-1] < last else None)


@given(st.lists(st.floats(0, 4.9), max_size=40), st.floats(0.1, 3))
def test_every_line_is_told_once_in_whatever_order_lines_show_up_within_seconds(
    delays: list[float], pause: float
) -> None:
    """A line gets its id when it is written, one each half second, and shows up `delay` later."""
    log, told = Log(), list[int]()
    tail = log.tail()
    shows_up = {id: id * 0.5 + delay for id, delay in enumerate(delays, start=1)}
    while log.now <= 30:
        log.visible = {id for id, at in shows_up.items() if at <= log.now}
        told += read(tail)
        log.now += pause
    assert sorted(told) == list(shows_up)
