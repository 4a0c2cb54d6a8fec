"""Pictures of numbers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from orchestrator.store.reads.workflow_rows import LastRun, Lately
from web.pages.charts import HEIGHT, bar, count_scale, line, nice
from web.pages.sparks import SHOWN, sparks

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(("value", "top"), [(0, 1), (1, 1), (3, 5), (7, 10), (10, 10), (11, 20), (0.3, 0.5), (99, 100)])
def test_a_scale_ends_at_a_round_number(value: float, top: float) -> None:
    assert nice(value) == pytest.approx(top)


def test_a_scale_of_counts_has_a_whole_number_in_its_middle() -> None:
    assert count_scale(1)[1].middle == "1"
    assert count_scale(0)[0] == 2


def test_one_failed_run_among_a_million_can_be_seen_and_the_bar_is_no_higher_than_the_picture() -> None:
    drawn = bar(3, NOW, NOW, {"succeeded": 1_000_000, "failed": 1}, 1_000_000, "/", HEIGHT)
    assert [part.status for part in drawn.parts] == ["succeeded", "failed"]
    assert all(float(part.height) > 1 for part in drawn.parts)
    assert sum(float(part.height) for part in drawn.parts) == pytest.approx(HEIGHT, abs=0.02)
    assert all(0 <= float(part.y) <= HEIGHT for part in drawn.parts)


def test_a_line_is_broken_where_there_is_no_value() -> None:
    drawn = line([1.0, 2.0, None, 1.0, None, 3.0, 4.0], 4.0)
    assert drawn.count("M") == 3
    assert drawn.count("h6") == 1  # the value by itself


def test_sparks_show_the_newest_at_the_right_and_what_failed_at_full_height() -> None:
    runs = [LastRun(str(n), "failed" if n == 0 else "succeeded", float(n), None) for n in range(SHOWN + 5)]
    drawn = sparks(runs)
    assert len(drawn) == SHOWN
    assert (drawn[-1].status, drawn[-1].y) == ("failed", "0.0")
    assert [one.x for one in sparks(runs[:2])] == [132, 138]
    assert [one.x for one in sparks(runs[:2], flush=False)] == [0, 6]


def test_numbers_of_no_runs_are_none() -> None:
    none = Lately([LastRun("1", "running", None, None)])
    assert (none.success, none.percentile(0.5), none.ended) == (None, None, 0)
    some = Lately([LastRun(str(n), "succeeded", float(n), None) for n in range(1, 101)])
    assert (some.success, some.percentile(0.5), some.percentile(0.95)) == (1.0, 51.0, 96.0)
