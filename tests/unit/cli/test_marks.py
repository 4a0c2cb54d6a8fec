"""How states look."""

from __future__ import annotations

from orchestrator.cli.marks import MARKS, Signs
from orchestrator.domain.drawing.looks import SIGNS
from orchestrator.domain.states import RunStatus, StepStatus


def test_every_status_has_a_mark_that_pictures_have_too() -> None:
    assert {*RunStatus, *StepStatus, "alive", "silent", "stopped"} == set(MARKS)
    assert {status: MARKS[status].sign for status in SIGNS} == SIGNS


def test_a_terminal_without_unicode_gets_letters() -> None:
    assert Signs(unicode=False).marked("failed") == ("x ", "bold red")
    assert all(mark.ascii.isascii() for mark in MARKS.values())
