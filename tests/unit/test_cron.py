"""Cron expressions: as other libraries read them, and where clocks are put on or back, as docs/schedules.md says."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.cron import Cron, cron_problems, zone_problems
from orchestrator.errors import InvalidInput

CASES = json.loads((Path(__file__).parents[1] / "data" / "cron.json").read_text())


def fires(cron: str, zone: str, after: str, count: int) -> list[str]:
    """The next ones as local times with their offset; `after` is a local time or one with an offset."""
    at = datetime.fromisoformat(after)
    at = at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))
    told = []
    for _ in range(count):
        found = Cron(cron, zone).next_after(at)
        assert found is not None
        assert found > at
        at = found
        told.append(at.astimezone(ZoneInfo(zone)).strftime("%m-%d %H:%M%z"))
    return told


def test_other_libraries_fire_at_the_same_times() -> None:
    wrong = []
    for case in CASES["fires"]:
        cron, at, found = Cron(case["cron"], case["zone"]), datetime.fromisoformat(case["after"]), []
        for _ in case["fires"]:
            at = cron.next_after(at) or at
            found.append(f"{at:%Y-%m-%dT%H:%M:%SZ}")
        end = case.get("none_more_before")
        more = cron.next_after(at)
        if found != case["fires"] or (end is not None and more is not None and more < datetime.fromisoformat(end)):
            wrong.append((case, found))
    assert len(CASES["fires"]) > 200
    assert wrong == []


def test_what_other_libraries_refuse_is_refused() -> None:
    assert len(CASES["invalid"]) > 100
    assert [expression for expression in CASES["invalid"] if not list(cron_problems(expression))] == []
    assert [expression for expression in CASES["valid"] if list(cron_problems(expression))] == []


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        # Put on: 02:00 becomes 03:00.
        ("30 2 * * *", "America/New_York", "2025-03-08T12:00", ["03-09 03:00-0400", "03-10 02:30-0400"]),
        ("0 2 * * *", "America/New_York", "2025-03-08T12:00", ["03-09 03:00-0400", "03-10 02:00-0400"]),
        ("*/15 2 * * *", "America/New_York", "2025-03-09T00:00", ["03-09 03:00-0400", "03-10 02:00-0400"]),
        ("30 2,3 * * *", "America/New_York", "2025-03-09T00:00", ["03-09 03:00-0400", "03-09 03:30-0400"]),
        ("30 * * * *", "America/New_York", "2025-03-09T01:00", ["03-09 01:30-0500", "03-09 03:30-0400"]),
        ("0 */2 * * *", "America/New_York", "2025-03-09T00:00", ["03-09 03:00-0400", "03-09 04:00-0400"]),
        ("30 1 * * *", "Europe/London", "2025-03-29T12:00", ["03-30 02:00+0100", "03-31 01:30+0100"]),
        # Put back: 01:00 to 02:00 comes twice.
        ("30 1 * * *", "America/New_York", "2025-11-01T12:00", ["11-02 01:30-0400", "11-03 01:30-0500"]),
        ("30 1 * * *", "America/New_York", "2025-11-02T01:10-05:00", ["11-03 01:30-0500", "11-04 01:30-0500"]),
        ("30 * * * *", "America/New_York", "2025-11-02T01:00-04:00", ["11-02 01:30-0400", "11-02 01:30-0500"]),
        ("*/30 1 * * *", "America/New_York", "2025-11-02T01:00-04:00", ["11-02 01:30-0400", "11-03 01:00-0500"]),
        ("15 1 * * *", "Europe/London", "2025-10-25T12:00", ["10-26 01:15+0100", "10-27 01:15+0000"]),
        ("0 * * * *", "Europe/London", "2025-10-26T00:30+01:00", ["10-26 01:00+0100", "10-26 01:00+0000"]),
        # Half an hour: 02:00 becomes 02:30, and back.
        ("0 2 * * *", "Australia/Lord_Howe", "2025-10-04T12:00", ["10-05 02:30+1100", "10-06 02:00+1100"]),
        ("15 * * * *", "Australia/Lord_Howe", "2025-10-05T01:00", ["10-05 01:15+1030", "10-05 02:30+1100"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2025-04-05T12:00", ["04-06 01:45+1100", "04-07 01:45+1030"]),
        ("45 * * * *", "Australia/Lord_Howe", "2025-04-06T01:00", ["04-06 01:45+1100", "04-06 01:45+1030"]),
        # A whole day is skipped: there is no 30th.
        ("0 12 * * *", "Pacific/Apia", "2011-12-29T13:00", ["12-31 00:00+1400", "12-31 12:00+1400"]),
        ("0 0 * * *", "Pacific/Apia", "2011-12-28T12:00", ["12-29 00:00-1000", "12-31 00:00+1400"]),
        ("0 * * * *", "Pacific/Apia", "2011-12-29T22:30", ["12-29 23:00-1000", "12-31 00:00+1400"]),
        # Midnight itself is skipped, or comes twice.
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00", ["11-04 01:00-0200", "11-05 00:00-0200"]),
        ("0 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00", ["02-17 23:00-0200", "02-18 23:00-0300"]),
        # Back for Ramadan.
        ("30 2 * * *", "Africa/Casablanca", "2025-02-22T12:00", ["02-23 02:30+0100", "02-24 02:30+0000"]),
        ("30 2 * * *", "Africa/Casablanca", "2025-04-05T12:00", ["04-06 03:00+0100", "04-07 02:30+0100"]),
        # 02:45 becomes 03:45.
        ("0 3 * * *", "Pacific/Chatham", "2025-09-27T12:00", ["09-28 03:45+1345", "09-29 03:00+1345"]),
        ("0 3 * * *", "Pacific/Chatham", "2025-04-05T12:00", ["04-06 03:00+1345", "04-07 03:00+1245"]),
        # Far away.
        ("0 2 29 2 *", "Europe/London", "2025-01-01T00:00", ["02-29 02:00+0000", "02-29 02:00+0000"]),
    ],
)
def test_clocks_are_put_on_and_back(cron: str, zone: str, after: str, expected: list[str]) -> None:
    assert fires(cron, zone, after, 2) == expected


@given(
    st.sampled_from(["America/New_York", "Australia/Lord_Howe", "Pacific/Chatham", "America/Sao_Paulo"]),
    st.integers(0, 59),
    st.datetimes(datetime(2010, 1, 1), datetime(2030, 1, 1)),
)
def test_star_hours_come_once_in_every_real_hour(zone: str, minute: int, start: datetime) -> None:
    """At no time of the year is there a longer pause; a shorter one where a clock is moved by half an hour."""
    at, cron = start.replace(tzinfo=UTC), Cron(f"{minute} * * * *", zone)
    found = []
    for _ in range(6):
        at = cron.next_after(at) or at
        found.append(at)
    longest = timedelta(hours=1, minutes=30 if zone == "Australia/Lord_Howe" else 0)
    assert all(timedelta(minutes=15) <= later - sooner <= longest for sooner, later in pairwise(found))


def test_a_time_that_never_comes_is_refused() -> None:
    assert [str(p) for p in cron_problems("0 0 31 2 *")] != []
    with pytest.raises(InvalidInput, match="bad hour.*is no IANA time zone"):
        Cron("0 25 * * *", "Europe/Londn")
    assert [p.hint for p in zone_problems("Europe/Londn")] == ["did you mean 'Europe/London'?"]
    assert [p.path for p in cron_problems("0 0 0 * * *")] == ["cron"]
    assert [p.path for p in cron_problems("0" * 5000 + " * * * *")] == ["cron"]


@pytest.mark.parametrize("name", ["localtime", "Factory", "../UTC", ""])
def test_a_zone_means_the_same_on_every_machine(name: str) -> None:
    assert [problem.path for problem in zone_problems(name)] == ["timezone"]
