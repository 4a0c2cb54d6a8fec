"""What changed between two looks."""

from __future__ import annotations

from orchestrator.cli.changes import Changes
from tests.unit.cli.looks import brief, look_at, plan_of

PLAN = plan_of(a="", b="a", c="b")


def names(changes: Changes, *steps: object) -> list[str]:
    return [step.name for step in changes.steps(look_at(list(steps)))]  # type: ignore[arg-type]


def test_the_first_look_tells_what_was_begun_and_later_ones_what_changed() -> None:
    changes = Changes()
    done, running = brief(PLAN, "a", "succeeded"), brief(PLAN, "b", "running")
    assert names(changes, done, running, brief(PLAN, "c")) == ["a", "b"]
    assert names(changes, done, running, brief(PLAN, "c")) == []
    assert names(changes, done, brief(PLAN, "b", "succeeded"), brief(PLAN, "c", "running")) == ["b", "c"]


def test_another_attempt_is_a_change() -> None:
    changes = Changes()
    assert names(changes, brief(PLAN, "a", "running")) == ["a"]
    assert names(changes, brief(PLAN, "a", "running", attempt=2)) == ["a"]


def test_the_run_is_told_once_a_state() -> None:
    changes = Changes()
    seen = [look_at([], status) for status in ("running", "running", "failed")]
    assert [changes.run(look) for look in seen] == [True, False, True]
