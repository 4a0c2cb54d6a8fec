"""Why a step is as it is."""

from __future__ import annotations

from orchestrator.domain.states import Reason, StepStatus
from orchestrator.domain.words import REASONS, failed_source, open_sources, reason_in_words
from tests.unit.cli.looks import plan_of


def statuses(plan_positions: dict[str, int], **named: str) -> dict[int, StepStatus]:
    return {plan_positions[name]: StepStatus(status) for name, status in named.items()}


def test_every_reason_has_words() -> None:
    assert set(REASONS) == set(Reason)
    assert len(set(REASONS.values())) == len(REASONS)
    assert reason_in_words(None) == ""


def test_the_cause_of_an_upstream_failure_is_the_step_that_failed_however_far_above() -> None:
    plan = plan_of(a="", b="a", c="b", d="c")
    found = statuses(plan.positions, a="succeeded", b="failed", c="upstream_failed", d="upstream_failed")
    assert failed_source(plan, found, plan.positions["d"]) == "b"
    assert failed_source(plan, found, plan.positions["c"]) == "b"
    assert failed_source(plan, found, plan.positions["a"]) is None


def test_a_pending_step_waits_for_its_open_sources_only() -> None:
    plan = plan_of(a="", b="", c="", d="", e="", z="a b c d e")
    found = statuses(plan.positions, a="succeeded", b="running")
    assert open_sources(plan, found, plan.positions["z"]) == "b, c, d and 1 more"
    assert open_sources(plan, found, plan.positions["a"]) == ""
