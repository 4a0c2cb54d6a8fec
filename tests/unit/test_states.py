"""The one table of transitions."""

from __future__ import annotations

import pytest

from orchestrator.domain.states import (
    RUN_OPEN,
    RUN_REOPENS,
    RUN_TERMINAL,
    RUN_TRANSITIONS,
    STEP_MARKS,
    STEP_OPEN,
    STEP_REOPENS,
    STEP_TERMINAL,
    STEP_TRANSITIONS,
    RunStatus,
    StepStatus,
)

Table = dict[RunStatus, frozenset[RunStatus]] | dict[StepStatus, frozenset[StepStatus]]


def test_the_tables_name_every_status() -> None:
    assert set(RUN_TRANSITIONS) == set(RunStatus)
    assert set(STEP_TRANSITIONS) == set(StepStatus)


def test_every_status_is_either_open_or_terminal() -> None:
    assert set(RunStatus) == RUN_OPEN | RUN_TERMINAL
    assert not RUN_OPEN & RUN_TERMINAL
    assert set(StepStatus) == STEP_OPEN | STEP_TERMINAL
    assert not STEP_OPEN & STEP_TERMINAL
    assert all(status.terminal == (status in RUN_TERMINAL) for status in RunStatus)
    assert all(status.terminal == (status in STEP_TERMINAL) for status in StepStatus)


def test_nothing_leaves_a_terminal_state_by_itself() -> None:
    assert all(not RUN_TRANSITIONS[status] for status in RUN_TERMINAL)
    assert all(not STEP_TRANSITIONS[status] for status in STEP_TERMINAL)


@pytest.mark.parametrize(("table", "first"), [(RUN_TRANSITIONS, "pending"), (STEP_TRANSITIONS, "pending")])
def test_every_status_can_be_reached_and_every_open_one_can_end(table: Table, first: str) -> None:
    ways = {str(status): {str(to) for to in tos} for status, tos in table.items()}
    assert _reachable(ways, first) == set(ways)
    for status, tos in ways.items():
        if tos:
            assert any(not ways[end] for end in _reachable(ways, status)), f"{status} never ends"


def _reachable(ways: dict[str, set[str]], start: str) -> set[str]:
    reached, front = {start}, {start}
    while front:
        front = {to for status in front for to in ways[status]} - reached
        reached |= front
    return reached


def test_a_step_that_did_not_start_cannot_wait_for_an_answer() -> None:
    assert all(StepStatus.WAITING not in STEP_TRANSITIONS[status] for status in STEP_OPEN - {StepStatus.RUNNING})


def test_only_a_pending_step_is_decided_without_an_attempt() -> None:
    sources = {status for status, tos in STEP_TRANSITIONS.items() if StepStatus.UPSTREAM_FAILED in tos}
    assert sources == {StepStatus.PENDING}


def test_a_succeeded_run_is_never_opened_again() -> None:
    assert set(RUN_REOPENS) == {RunStatus.FAILED, RunStatus.CANCELED}
    assert set(STEP_REOPENS) == STEP_TERMINAL
    assert all(to <= STEP_OPEN for to in STEP_REOPENS.values())


def test_a_mark_ends_a_step_in_any_state_but_succeeded() -> None:
    assert set(STEP_MARKS) == set(StepStatus) - {StepStatus.SUCCEEDED}
    assert set().union(*STEP_MARKS.values()) == {StepStatus.SUCCEEDED, StepStatus.SKIPPED}
    assert all(status not in tos for status, tos in STEP_MARKS.items())


def test_a_paused_run_does_not_end_and_a_canceling_one_ends_canceled() -> None:
    assert not RUN_TRANSITIONS[RunStatus.PAUSED] & RUN_TERMINAL
    assert RUN_TRANSITIONS[RunStatus.CANCELING] == {RunStatus.CANCELED}
