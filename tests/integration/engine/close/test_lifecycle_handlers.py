"""Handlers run after the last step, see how the run ends, and cannot change it."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import testing
from orchestrator.services.cancel import cancel
from orchestrator.testing import RunResult
from tests.documents import document, step
from tests.scripted import FUNCTION, Script

SEES = {"function": "see", "input": {"status": "{{ run.status }}", "error": "{{ run.error }}"}}
HANDLERS = dict.fromkeys(("on_success", "on_failure", "on_cancel", "on_finish"), SEES)


class Seen:
    """What each handler was given, in the order in which they ran."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any, Any]] = []

    def see(self, ctx: Any, status: str, error: Any) -> None:
        self.calls.append((ctx.step, status, error and error["message"]))


def ended(outcomes: dict[str, list[str]], *, canceled: bool = False, **keys: Any) -> tuple[RunResult, Seen]:
    seen = Seen()
    functions = Script(outcomes).functions | {"see": seen.see}
    with testing.sandbox(functions) as box:
        run_id = box.start(document(step("a", function=FUNCTION), step("b", "a", function=FUNCTION), **HANDLERS | keys))
        if canceled:
            box.step()
            cancel(box.engine, run_id)
        box.drive(run_id)
        return box.result(run_id), seen


def test_after_a_success() -> None:
    result, seen = ended({})
    assert result.status == "succeeded"
    assert seen.calls == [("on_success", "succeeded", None), ("on_finish", "succeeded", None)]


def test_after_a_failure_they_see_the_error() -> None:
    result, seen = ended({"b": ["failed"]})
    told = "attempt 1 of b was to be failed"
    assert result.status == "failed"
    assert seen.calls == [("on_failure", "failed", told), ("on_finish", "failed", told)]


def test_after_a_cancel() -> None:
    result, seen = ended({}, canceled=True)
    assert result.status == "canceled"
    assert seen.calls == [("on_cancel", "canceled", None), ("on_finish", "canceled", None)]


@pytest.mark.parametrize("mode", ["drain", "cancel"])
def test_after_a_failure_that_stopped_the_run(mode: str) -> None:
    result, seen = ended({"a": ["failed"]}, failure_mode=mode)
    assert result.status == "failed"
    assert [name for name, _, _ in seen.calls] == ["on_failure", "on_finish"]


def test_they_show_as_steps() -> None:
    result, _ = ended({})
    assert result.steps["on_success"].status == "succeeded"
    assert result.steps["on_finish"].status == "succeeded"
    assert "on_failure" not in result.steps


def test_they_are_no_leaves_of_the_output() -> None:
    result, _ = ended({})
    assert set(result.output) == {"b"}


def test_a_handlers_failure_is_recorded_and_changes_nothing() -> None:
    failing = {"function": FUNCTION}
    result, seen = ended({"on_success": ["failed"]}, on_success=failing)
    assert result.status == "succeeded"
    assert result.steps["on_success"].status == "failed"
    assert result.error is None
    assert [name for name, _, _ in seen.calls] == ["on_finish"]


def test_a_handler_is_tried_again_as_its_retry_says() -> None:
    retried = {"function": FUNCTION, "retry": {"max_attempts": 3, "delay": 10}}
    result, _ = ended({"on_finish": ["failed", "failed"]}, on_finish=retried)
    assert (result.steps["on_finish"].status, result.steps["on_finish"].attempts) == ("succeeded", 3)


def test_a_handler_reads_every_step() -> None:
    reading = {"function": FUNCTION, "input": {}, "when": "steps.b.status == 'failed' and steps.a.output.attempt == 1"}
    result, _ = ended({"b": ["failed"]}, on_failure=reading)
    assert result.steps["on_failure"].status == "succeeded"


def test_a_handler_whose_condition_is_false_is_skipped() -> None:
    result, seen = ended({}, on_success={"function": FUNCTION, "when": "false"})
    assert result.steps["on_success"].status == "skipped"
    assert [name for name, _, _ in seen.calls] == ["on_finish"]


def test_handlers_that_do_nothing_end_the_run_at_once() -> None:
    result, _ = ended({}, on_success={"pass": True}, on_finish={"pass": True})
    assert (result.status, result.steps["on_finish"].status) == ("succeeded", "succeeded")


def test_the_output_is_there_before_the_handlers_are() -> None:
    """A run whose output cannot be made has failed, and `on_failure` is the handler that sees it."""
    result, seen = ended({}, output="{{ steps.a.output.nothing }}")
    assert result.status == "failed"
    assert [name for name, _, _ in seen.calls] == ["on_failure", "on_finish"]
