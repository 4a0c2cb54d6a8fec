"""New code is checked against recorded histories before it is deployed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator import testing
from orchestrator.errors import OrchestratorError


def order(ctx: Any, input: Any) -> Any:
    charge = ctx.step("charge", lambda: {"id": 1})
    ctx.now()
    label = ctx.call("label", {"order": input["id"]})
    ctx.sleep(60)
    return [charge, label, ctx.random()]


HISTORY = testing.run(order, {"id": 7}, {"label": lambda order: f"label-{order}"}).history


def test_the_same_code_replays_its_history_and_calls_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "run.json"
    kept.write_text(json.dumps(HISTORY))

    def careful(ctx: Any, input: Any) -> Any:
        charge = ctx.step("charge", pytest.fail, "it was called")
        ctx.now()
        label = ctx.call("label", {"order": input["id"]})
        ctx.sleep(60)
        return [charge, label, ctx.random()]

    for history in (HISTORY, kept, str(kept)):
        replayed = testing.replay(history, careful)
        assert replayed.status == "succeeded"
        assert replayed.output[:2] == [{"id": 1}, "label-7"]
    assert testing.replay(HISTORY, order) == testing.replay(kept, order)


def test_the_first_difference_is_told_by_name_entry_and_line() -> None:
    def changed(ctx: Any, input: Any) -> None:
        ctx.step("charge", lambda: {"id": 1})
        ctx.now()
        ctx.call("print")

    with pytest.raises(testing.HistoryDiffers) as told:
        testing.replay(HISTORY, changed)
    message = str(told.value)
    for part in (HISTORY["run_id"], "at entry 3", "call 'label' (test_recorded_histories.py:", "asks for call 'print'"):
        assert part in message


def test_patched_makes_a_change_fit() -> None:
    def patched(ctx: Any, input: Any) -> Any:
        if ctx.patched("check-fraud"):
            ctx.call("check")
        return order(ctx, input)

    assert testing.replay(HISTORY, patched).status == "succeeded"
    checked = testing.run(patched, {"id": 7}, {"label": lambda order: "x", "check": lambda: "fine"})
    assert [call.name for call in checked.calls] == ["check", "charge", "label"]


def test_code_that_does_more_after_the_history_is_no_difference_and_does_nothing() -> None:
    def longer(ctx: Any, input: Any) -> Any:
        order(ctx, input)
        ctx.step("archive", pytest.fail, "it was called")

    assert testing.replay(HISTORY, longer).status == "waits"


def test_a_run_that_succeeded_must_not_fail_and_an_open_one_may_wait() -> None:
    def broken(ctx: Any, input: Any) -> Any:
        order(ctx, input)
        raise KeyError("new")

    with pytest.raises(testing.HistoryDiffers, match="the run succeeded, the code raises KeyError: 'new'"):
        testing.replay(HISTORY, broken)
    stopped = testing.run(order, {"id": 7}, {"label": lambda order: "x"}, during=[testing.cancel(after=5)])
    open = {**stopped.history, "entries": [*stopped.history["entries"][:2]]}
    assert testing.replay(open, order).status == "waits"
    assert testing.replay({**HISTORY, "status": "failed"}, broken).error == {"type": "KeyError", "message": "'new'"}


def test_what_is_no_history_is_refused(tmp_path: Path) -> None:
    for text, told in (("[]", "no recorded history"), ("{", "is not JSON"), ('{"run_id": "x"}', "KeyError: 'input'")):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(OrchestratorError, match=told):
            testing.replay(tmp_path / "x.json", order)
