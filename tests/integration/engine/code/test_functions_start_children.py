"""Functions start runs of other workflows, code-first and declarative, and are started by them."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import ChildCanceled, ChildFailed
from orchestrator.services.cancel import cancel
from orchestrator.services.pause import pause, resume
from orchestrator.services.register import register
from orchestrator.services.signal import signal
from orchestrator.services.start import start
from orchestrator.store.db import Database
from tests.coding import Coders
from tests.documents import document, step
from tests.families import children_of, line


@pytest.fixture
def coders(module_db: Database) -> Coders:
    return Coders(module_db, {"double": lambda n: 2 * n, "broken": _broken})


def _broken() -> None:
    raise ValueError("no luck")


def _child(ctx: Any, input: Any) -> Any:
    return ctx.await_child(ctx.spawn_child(input["name"], input.get("input"), child_id=input.get("id")))


def _caught(ctx: Any, input: Any) -> Any:
    try:
        return _child(ctx, input)
    except (ChildFailed, ChildCanceled) as error:
        return [type(error).__name__, error.type, error.told]


def test_a_childs_output_error_and_cancel_reach_the_function_three_levels_up(coders: Coders) -> None:
    leaves = {"ok": lambda ctx, input: ctx.call("double", {"n": input}), "bad": lambda ctx, input: ctx.call("broken")}
    for name, call in leaves.items():
        coders.know(call, name)
    coders.know(_child, "middle")
    down = {"name": "middle", "input": {"name": "ok", "input": 4}}
    assert coders.finish(coders.begin(_child, down))["output"] == 8
    down["input"] = {"name": "bad"}
    name, kind, told = coders.finish(coders.begin(_caught, down))["output"]
    assert (name, kind) == ("ChildFailed", "ValueError")
    assert "broken: no luck" in told
    assert told.count("of run") + told.count("(run") == 1
    coders.know(lambda ctx, input: ctx.wait_event("never"), "ok")
    run_id = coders.begin(_caught, {"name": "middle", "input": {"name": "ok"}})
    coders.work()
    assert line(coders, run_id) == ["running"] * 3
    (middle,) = children_of(coders, run_id)
    cancel(coders.engine, middle, reason="enough")
    assert coders.finish(run_id)["output"][:2] == ["ChildCanceled", "ChildCanceled"]
    assert line(coders, run_id) == ["succeeded", "canceled", "canceled"]


def test_functions_and_documents_start_each_other(coders: Coders) -> None:
    coders.know(lambda ctx, input: {"got": ctx.call("double", {"n": input["n"]})}, "code-leaf", input_schema=_NUMBER)
    register(coders.engine, document(step("twice", function="double", input={"n": "{{ input.n }}"}), name="low"))
    below = {"name": "below", "workflow": "code-leaf", "input": {"n": 3}}
    register(coders.engine, document(below, name="high"))
    high = coders.finish(start(coders.engine, "high").run_id)
    assert high["output"] == {"below": {"got": 6}}
    assert coders.finish(coders.begin(_child, {"name": "low", "input": {"n": 5}}))["output"] == {"twice": 10}
    wrong = coders.finish(coders.begin(_caught, {"name": "code-leaf", "input": {"n": "x"}}))
    assert wrong["output"][:2] == ["ChildFailed", "InvalidInput"]


_NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_a_child_with_a_name_is_one_for_all_who_spawn_it_also_when_it_has_ended(coders: Coders) -> None:
    coders.know(lambda ctx, input: ctx.wait_event("go"), "slow")
    asked = {"name": "slow", "id": "only"}
    first, second = coders.begin(_child, asked, name="one"), coders.begin(_child, asked, name="two")
    coders.work()
    (child,) = [*children_of(coders, first), *children_of(coders, second)]
    signal(coders.engine, child, "go", "here")
    assert [coders.finish(run_id)["output"] for run_id in (first, second)] == ["here", "here"]
    assert coders.finish(coders.begin(_child, asked))["output"] == "here"
    assert (
        coders.finish(coders.begin(_child, asked | {"name": "one", "input": {"name": "slow", "id": "only"}}))["output"]
        == "here"
    )


def test_a_cancel_of_the_function_reaches_its_children_and_its_pause_too(coders: Coders) -> None:
    coders.know(lambda ctx, input: ctx.wait_event("go"), "slow")
    run_id = coders.begin(_child, {"name": "slow"})
    coders.work()
    pause(coders.engine, run_id)
    assert line(coders, run_id) == ["paused", "paused"]
    resume(coders.engine, run_id)
    assert line(coders, run_id) == ["running", "running"]
    cancel(coders.engine, run_id)
    coders.finish(run_id)
    assert line(coders, run_id) == ["canceled", "canceled"]


def test_a_function_cancels_its_child_and_sees_that_it_was(coders: Coders) -> None:
    coders.know(lambda ctx, input: ctx.wait_event("go"), "slow")

    def work(ctx: Any, input: Any) -> Any:
        children = [ctx.spawn_child("slow"), ctx.spawn_child("slow", child_id="x")]
        ctx.call("double", {"n": 1})
        for child in children:
            ctx.cancel_child(child)
        unborn = ctx.spawn_child("slow")
        ctx.cancel_child(unborn)
        ended = ctx.gather(*children, unborn, return_errors=True)
        return [type(error).__name__ for error in ended]

    run_id = coders.begin(work)
    assert coders.finish(run_id)["output"] == ["ChildCanceled"] * 3
    assert {coders.status(child) for child in children_of(coders, run_id)} == {"canceled"}


def test_a_run_is_not_attached_to_what_waits_for_it(coders: Coders) -> None:
    def itself(ctx: Any, input: Any) -> Any:
        return ctx.await_child(ctx.spawn_child("itself", child_id="one"))

    def other(ctx: Any, input: Any) -> Any:
        return ctx.await_child(ctx.spawn_child("an", child_id="an"))

    def an(ctx: Any, input: Any) -> Any:
        return ctx.await_child(ctx.spawn_child("other", child_id="other"))

    coders.know(an, "an")
    for function, name in ((itself, "itself"), (other, "other")):
        run = coders.finish(coders.begin(function, name=name))
        assert (run["status"], run["error"]["type"]) == ("failed", "ChildLoop")
        assert "neither would ever end" in run["error"]["message"]
