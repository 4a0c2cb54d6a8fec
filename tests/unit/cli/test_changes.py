"""What changed between two looks."""

from __future__ import annotations

from datetime import timedelta

from orchestrator.cli.changes import Changes
from tests.unit.cli.looks import NOW, brief, look_at, plan_of

PLAN = plan_of(a="", b="a", c="b")


def names(changes: Changes, *steps: object) -> list[str]:
    return [step.name for step in changes.steps(look_at(list(steps)))]  # type: ignore[arg-type]


def test_the_first_look_tells_what_was_begun_and_later_ones_what_changed() -> None:
    changes = Changes()
    done = brief(PLAN, "a", "succeeded", finished_at=NOW - timedelta(seconds=6))
    running = brief(PLAN, "b", "running")
    assert names(changes, done, running, brief(PLAN, "c")) == ["a", "b"]
    assert names(changes, done, running, brief(PLAN, "c")) == []
    next_one = brief(PLAN, "c", "running", started_at=NOW)
    assert names(changes, done, brief(PLAN, "b", "succeeded"), next_one) == ["b", "c"]


def test_changes_are_told_in_the_order_they_happened() -> None:
    late, early = brief(PLAN, "a", "running"), brief(PLAN, "b", "skipped", finished_at=NOW - timedelta(seconds=9))
    assert names(Changes(), late, brief(PLAN, "c", "ready"), early) == ["b", "a", "c"]


def test_another_attempt_is_a_change() -> None:
    changes = Changes()
    assert names(changes, brief(PLAN, "a", "running")) == ["a"]
    assert names(changes, brief(PLAN, "a", "running", attempt=2)) == ["a"]


def test_the_run_is_told_once_a_state() -> None:
    changes = Changes()
    seen = [look_at([], status) for status in ("running", "running", "failed")]
    assert [changes.run(look) is not None for look in seen] == [True, False, True]


def test_a_run_is_told_with_the_time_it_came_into_its_state() -> None:
    """So that its line comes before those of steps that have ended since."""
    changes, began, paused = Changes(), NOW - timedelta(seconds=60), NOW - timedelta(seconds=7)
    seen = [
        look_at([], "running", started_at=began),
        look_at([], "paused", started_at=began, paused_at=paused),
        look_at([], "running", started_at=began),
        look_at([], "failed", started_at=began, finished_at=NOW - timedelta(seconds=1)),
    ]
    assert [changes.run(look) for look in seen] == [began, paused, NOW, NOW - timedelta(seconds=1)]
