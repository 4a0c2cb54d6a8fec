"""Plans of the database's functions are kept while they are young by what they have cost, not by the clock."""

from __future__ import annotations

from collections.abc import Callable

import psycopg2
import pytest

from orchestrator.store import db as store_db
from orchestrator.store.db import Database


class Clock:
    """A clock on which a call takes as long as is set."""

    def __init__(self) -> None:
        self.now = self.each = 0.0

    def monotonic(self) -> float:
        self.now += self.each
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(store_db, "time", made)
    return made


@pytest.fixture
def anew(db: Database) -> Callable[[], bool]:
    """Make a call; whether plans were made anew for it."""
    return lambda: str(db.call("SELECT current_query()", [])[0][0]).startswith("DISCARD PLANS")


def test_a_new_connection_makes_its_own_and_keeps_them_for_a_second_of_calls(
    clock: Clock, anew: Callable[[], bool]
) -> None:
    assert [anew() for _ in range(3)] == [True, False, False]
    clock.now += 3600.0  # nobody called
    assert not anew()
    clock.each = 0.4
    assert [anew() for _ in range(7)] == [False, False, False, True, False, False, True]


def test_a_call_that_fails_has_taken_its_time_too(clock: Clock, anew: Callable[[], bool], db: Database) -> None:
    assert [anew(), anew()] == [True, False]
    clock.each = 2.0
    with pytest.raises(psycopg2.Error):
        db.call("SELECT 1 / 0", [])
    clock.each = 0.0
    assert [anew(), anew()] == [True, False]
