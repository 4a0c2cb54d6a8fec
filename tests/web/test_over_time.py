from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import event

from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters
from tests.integration.reads.rows import add_run, add_workflow
from web.pages.over_time import BUCKETS, OverTime, totals

NOW = datetime(2026, 3, 1, 12, 30, 30, tzinfo=UTC)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_what_is_long_past_is_counted_once_in_a_while_and_the_present_at_each_look(module_db: Database) -> None:
    clock, counted = Clock(), []
    with module_db.transaction() as conn:
        add_run(conn, add_workflow(conn), id="019ca97e-3f00-7000-8000-000000000001")
    event.listen(module_db.engine, "before_cursor_execute", lambda *given: counted.append(given[3]))
    shown = OverTime(module_db, clock)

    def look(seconds: float) -> int:
        """How many buckets were counted."""
        counted.clear()
        now = NOW + timedelta(seconds=seconds)
        clock.now = 1000.0 + seconds
        buckets, whole = shown.buckets(RunFilters(), now - timedelta(hours=1), now, now)
        assert whole
        assert len(buckets) in (BUCKETS, BUCKETS + 1)
        assert buckets[0].since <= now - timedelta(hours=1) < now <= buckets[-1].until
        assert totals(buckets) in ({"succeeded": 1}, {})
        return sum(len(given["lows"]) for given in counted if "lows" in given)

    assert look(0) == BUCKETS + 1
    assert 1 <= look(1) <= 2
    assert 1 < look(60) < BUCKETS


def test_a_look_counts_for_a_bounded_time_from_the_newest_on_and_the_next_goes_on(module_db: Database) -> None:
    clock = Clock()
    event.listen(module_db.engine, "before_cursor_execute", lambda *given: setattr(clock, "now", clock.now + 0.06))
    shown = OverTime(module_db, clock)
    known: list[int] = []
    whole = False
    while not whole:
        buckets, whole = shown.buckets(RunFilters(), NOW - timedelta(days=30), NOW, NOW)
        known.append(len(shown._known))
        assert len(buckets) in (BUCKETS, BUCKETS + 1)
    assert 1 < len(known) < BUCKETS
    assert known == sorted(known)
