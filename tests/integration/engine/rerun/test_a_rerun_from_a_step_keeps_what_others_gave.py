"""A rerun from a step: what runs again, what keeps its end, and the tallies between them."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.errors import Conflict, NotFound
from orchestrator.services.cancel import cancel
from orchestrator.services.register import register
from orchestrator.services.rerun import Rerun, rerun
from orchestrator.services.retry import retry
from orchestrator.services.signal import signal
from orchestrator.store.reads import get_step, list_attempts, list_steps
from orchestrator.testing import RunResult, Sandbox
from tests.documents import FUNCTIONS, document, on, step
from tests.scripted import FUNCTION, Script
from tests.watching import check_tallies

DIAMOND = [
    step("a", function=FUNCTION),
    step("b", "a", function=FUNCTION),
    step("c", "a", function=FUNCTION),
    step("d", "b", "c", function=FUNCTION),
]


def again(box: Sandbox, run_id: str, *names: str, **options: Any) -> tuple[Rerun, RunResult]:
    """The rerun, driven to its end, its tallies checked at its start and its end."""
    made = rerun(box.engine, run_id, from_steps=names, **options)
    revision = box.connection.scalar(text("SELECT revision_id FROM workflow_runs WHERE id = :id"), {"id": made.run_id})
    plan = box.engine.plan(str(revision))
    check_tallies(box.connection, plan, made.run_id)
    box.drive(made.run_id, check=lambda _: check_tallies(box.connection, plan, made.run_id))
    check_tallies(box.connection, plan, made.run_id)
    return made, box.result(made.run_id)


def test_the_step_and_all_that_depends_on_it_run_again_and_nothing_else() -> None:
    script = Script({})
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(*DIAMOND))
        box.drive(run_id)
        box.clock.skip(timedelta(hours=1))
        made, result = again(box, run_id, "b")
        first = box.result(run_id)
        shown = {item["name"]: item["reused"] for item in list_steps(box.connection, made.run_id).items}
    assert (result.status, made.kept, made.failing) == ("succeeded", 2, ())
    assert Counter(script.ran) == {"a": 2 - 1, "b": 2, "c": 1, "d": 2}
    assert shown == {"a": True, "b": False, "c": True, "d": False}
    for name in "ac":
        then, now = first.steps[name], result.steps[name]
        assert (now.started_at, now.finished_at, now.attempts) == (then.started_at, then.finished_at, then.attempts)


def test_steps_that_run_again_read_what_kept_ones_gave() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        graph = [
            step("a", input={"x": "{{ input.x }}"}),
            step("b", "a", input={"a": "{{ steps.a.output.x }}", "x": "{{ input.x }}"}),
        ]
        run_id = box.start(document(*graph), {"x": 1})
        box.drive(run_id)
        _, result = again(box, run_id, "b", input={"x": 2})
    assert result.steps["b"].output == {"a": 1, "x": 2}


def test_several_steps_may_be_named() -> None:
    script = Script({})
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(*DIAMOND))
        box.drive(run_id)
        made, _ = again(box, run_id, "b", "c")
    assert made.kept == 1
    assert Counter(script.ran) == {"a": 1, "b": 2, "c": 2, "d": 2}


def test_failed_steps_are_kept_and_told_and_canceled_ones_run() -> None:
    script = Script({"bad": ["failed"]})
    graph = [
        step("bad", function=FUNCTION),
        step("behind", "bad", function=FUNCTION),
        step("good", function=FUNCTION),
    ]
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(*graph))
        box.drive(run_id)
        made, result = again(box, run_id, "good")
        assert (made.failing, result.status) == (("bad",), "failed")
        assert {s.name: s.status for s in result.steps.values()} == {
            "bad": "failed",
            "behind": "upstream_failed",
            "good": "succeeded",
        }
        retry(box.engine, made.run_id)
        box.drive(made.run_id)
        assert box.result(made.run_id).status == "succeeded"
        assert get_step(box.connection, made.run_id, "bad")["reused"] is False
        canceled = box.start(document(*DIAMOND, name="canceled"))
        cancel(box.engine, canceled)
        made, result = again(box, canceled, "d")
        assert (made.kept, result.status) == (0, "succeeded")


def test_a_kept_failure_may_be_caught_by_a_step_that_runs_again() -> None:
    script = Script({"bad": ["failed"], "catch": ["succeeded"]})
    graph = [step("bad", function=FUNCTION), step("catch", function=FUNCTION, depends_on=[on("bad", "failure")])]
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(*graph))
        box.drive(run_id)
        made, result = again(box, run_id, "catch")
    assert (made.failing, result.status) == ((), "succeeded")
    assert Counter(script.ran) == {"bad": 1, "catch": 2}


def test_edges_with_conditions_say_what_they_said() -> None:
    graph = [
        step("a", function="ok", input={"n": 1}),
        step("yes", depends_on=[on("a", "success", "result.n == 1")]),
        step("no", depends_on=[on("a", "success", "result.n == 2")]),
        step("broken", depends_on=[on("a", "success", "result.m == 2")]),
        step("all", "yes", "no", trigger_rule="all_done"),
    ]
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(*graph))
        box.drive(run_id)
        before = {s.name: (s.status, s.reason) for s in box.result(run_id).steps.values()}
        for name in ("yes", "no", "broken", "all"):
            _, result = again(box, run_id, name)
            assert {s.name: (s.status, s.reason) for s in result.steps.values()} == before


def test_variables_that_kept_steps_published_have_their_values_and_others_begin_anew() -> None:
    graph = [
        step("a", publish={"kept": 1}),
        step("b", "a", input={"kept": "{{ vars.kept }}", "anew": "{{ vars.anew }}"}, publish={"anew": 2}),
    ]
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(*graph, vars={"kept": 0, "anew": "{{ input.x }}"}), {"x": 9})
        box.drive(run_id)
        assert box.result(run_id).vars == {"kept": 1, "anew": 2}
        _, result = again(box, run_id, "b")
    assert result.steps["b"].output == {"kept": 1, "anew": 9}


def test_the_attempts_of_a_kept_step_are_those_it_had() -> None:
    script = Script({"a": ["failed"]})
    graph = [step("a", function=FUNCTION, retry={"max_attempts": 2}), step("b", "a", function=FUNCTION)]
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(*graph))
        box.drive(run_id)
        made, _ = again(box, run_id, "b")
        twice, _ = again(box, made.run_id, "b")
        for kept in (made.run_id, twice.run_id):
            assert [t["outcome"] for t in list_attempts(box.connection, kept, "a")] == ["failed", "succeeded"]
            assert len(list_attempts(box.connection, kept, "b")) == 1


def test_what_came_for_a_step_that_waited_is_kept_too() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        graph = [{"name": "a", "wait_for": {"event": "paid"}}, step("b", "a", input={"got": "{{ steps.a.output }}"})]
        run_id = box.start(document(*graph))
        signal(box.engine, run_id, "paid", 5)
        box.drive(run_id)
        _, result = again(box, run_id, "b")
        assert result.steps["b"].output == {"got": 5}
        anew = rerun(box.engine, run_id, from_steps="a").run_id
        box.step()
        assert box.result(anew).steps["a"].status == "waiting"


def test_a_run_whose_last_steps_are_all_decided_at_once_ends() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        gate = {"name": "gate", "pass": True, "depends_on": ["a"], "input": "{{ steps.a.output }}"}
        run_id = box.start(document(step("a", input={"n": 1}), gate))
        box.drive(run_id)
        made = rerun(box.engine, run_id, from_steps="gate")
        result = box.result(made.run_id)
    assert (result.status, result.output) == ("succeeded", {"gate": {"n": 1}})


def test_lifecycle_handlers_run_at_the_new_runs_end() -> None:
    script = Script({})
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(*DIAMOND, on_success={"function": FUNCTION}))
        box.drive(run_id)
        _, result = again(box, run_id, "d")
        with pytest.raises(Conflict, match="'on_success' is a lifecycle handler"):
            rerun(box.engine, run_id, from_steps=["on_success"])
    assert result.steps["on_success"].status == "succeeded"
    assert Counter(script.ran)["on_success"] == 2


def test_with_the_latest_revision_new_steps_run_and_what_depends_on_them() -> None:
    script = Script({})
    new = [DIAMOND[0], DIAMOND[1], step("n", function=FUNCTION), step("c", "a", "n", function=FUNCTION), DIAMOND[3]]
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(*DIAMOND))
        box.drive(run_id)
        register(box.engine, document(*new))
        made, result = again(box, run_id, "d", revision="latest")
    assert (made.kept, result.status) == (2, "succeeded")
    assert Counter(script.ran) == {"a": 1, "b": 1, "c": 2, "d": 2, "n": 1}


def test_with_the_latest_revision_changed_edges_are_asked_anew() -> None:
    old = [step("a", input={"n": 1}), step("b", depends_on=[on("a", "success", "result.n == 2")]), step("z", "a")]
    new = [old[0], step("b", depends_on=[on("a", "success", "result.n == 1")]), old[2]]
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(*old))
        box.drive(run_id)
        assert box.result(run_id).steps["b"].status == "skipped"
        register(box.engine, document(*new))
        _, kept = again(box, run_id, "z", revision="latest")
        _, run = again(box, run_id, "b", revision="latest")
    assert (kept.steps["b"].status, run.steps["b"].status) == ("skipped", "succeeded")


def test_what_the_latest_revision_cannot_keep_is_named() -> None:
    script = Script({})
    other = [step("b", "a", function="ok"), step("d", "b", function=FUNCTION)]
    with testing.sandbox(script.functions | {"ok": lambda: 1}) as box:
        run_id = box.start(document(*DIAMOND))
        box.drive(run_id)
        register(box.engine, document(DIAMOND[0], *other))
        with pytest.raises(
            Conflict,
            match=f"cannot keep .*'c' is not in it, 'b' is a call of 'ok' there, and was a call of '{FUNCTION}'",
        ):
            rerun(box.engine, run_id, from_steps=["d"], revision="latest")
        made, result = again(box, run_id, "a", revision="latest")
        assert (made.kept, result.status) == (0, "succeeded")
        with pytest.raises(NotFound, match="the workflow has no step 'dd'; did you mean 'd'"):
            rerun(box.engine, run_id, from_steps=["dd"])
        assert box.connection.scalar(text("SELECT count(*) FROM workflow_runs")) == 2
