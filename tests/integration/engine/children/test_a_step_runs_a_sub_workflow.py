"""A `workflow` step: its child's start, end, errors and limits (docs/adr/0017)."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import testing
from orchestrator.services.coordinate import tick
from orchestrator.services.engine import Settings
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.store import workflows
from orchestrator.store.db import Database
from tests.documents import FUNCTIONS, document, step
from tests.families import below, children_of, column, levels, only_child, start_family, unwatched
from tests.hands import Hands
from tests.support import soaked

ADD = document(step("sum", input={"n": "{{ input.n + 1 }}"}), name="add", output="{{ steps.sum.output.n }}")


def run(*documents: dict[str, Any], input: Any = None, **options: Any) -> testing.RunResult:
    first, *others = documents
    return testing.run(first, input, options.pop("functions", FUNCTIONS), workflows=others, **options)


def test_the_output_of_the_child_is_the_output_of_the_step() -> None:
    parent = document(
        below("a", "add", input={"n": "{{ input.n }}"}), step("b", "a", input={"n": "{{ steps.a.output }}"})
    )
    done = run(parent, ADD, input={"n": 4})
    assert (done.status, done.output, done.steps["a"].output) == ("succeeded", {"b": {"n": 5}}, 5)
    assert (done.steps["a"].input, done.steps["a"].attempts) == ({"n": 4}, 1)


def test_parent_and_child_are_linked_both_ways(db: Database) -> None:
    hands = Hands(db)
    run_id = start_family(hands, *levels("top", "middle", "low"))
    hands.work()
    middle = only_child(hands, run_id)
    low = only_child(hands, middle)
    assert hands.steps(run_id)["down"]["child_run_id"] == middle
    assert hands.steps(middle)["down"]["child_run_id"] == low
    names = ("root_id", "parent_run_id", "depth", "status", "parent_waits")
    rows = [[column(hands, one, name) for name in names] for one in (run_id, middle, low)]
    assert rows == [
        [run_id, None, 0, "succeeded", False],
        [run_id, run_id, 1, "succeeded", False],
        [run_id, middle, 2, "succeeded", False],
    ]


def test_templates_of_a_child_see_where_it_lies_and_its_own_input_tags_and_variables() -> None:
    seen = {"depth": "{{ run.depth }}", "root": "{{ run.root_id }}", "parent": "{{ run.parent_id }}"}
    child = document(
        {"name": "a", "pass": True, "input": seen | {"tags": "{{ run.tags }}", "v": "{{ vars.v }}"}},
        name="child",
        tags=["mine"],
        vars={"v": "{{ input.n }} of {{ run.workflow }} at {{ run.depth }}"},
        output="{{ steps.a.output }}",
    )
    done = run(document(below("down", "child", input={"n": 1}), tags=["theirs"]), child)
    assert done.output == {
        "down": {"depth": 1, "root": done.id, "parent": done.id, "tags": ["mine"], "v": "1 of child at 1"}
    }


@pytest.mark.parametrize("kind", ["add", "ADD"])
def test_the_name_may_be_a_template_and_its_case_does_not_count(kind: str) -> None:
    assert run(document(below("a", "{{ input.kind }}", input={"n": 1})), ADD, input={"kind": kind}).output == {"a": 2}


@pytest.mark.parametrize("name", [None, 5, "", ["add"]])
def test_a_name_that_is_none_fails_the_step_saying_so(name: Any) -> None:
    done = run(document(below("a", "{{ input.name }}")), input={"name": name})
    assert (done.status, (done.error or {})["type"]) == ("failed", "ExpressionError")
    assert (done.error or {})["message"].startswith("`workflow` must become the name of a workflow")


def test_an_unknown_workflow_fails_the_step_for_good_and_names_a_near_one() -> None:
    done = run(document(below("a", "ad", retry={"max_attempts": 3})), ADD)
    assert done.error == {
        "type": "UnknownWorkflow",
        "message": "app 'default' has no workflow 'ad'; did you mean 'add'?",
        "step": "a",
    }
    assert (done.steps["a"].attempts, done.children) == (1, ())


def test_an_input_the_child_refuses_fails_the_step_for_good_and_no_run_is_made() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    done = run(document(below("a", "add", input={"n": "x"}, retry={"max_attempts": 3})), ADD | {"input_schema": schema})
    assert ((done.error or {})["type"], done.children, done.steps["a"].attempts) == ("InvalidInput", (), 1)
    assert "input.n" in (done.error or {})["message"]
    assert done.steps["a"].input == {"n": "x"}


def test_defaults_of_the_childs_schema_are_filled_in() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 41}}}
    done = run(document(below("a", "add")), ADD | {"input_schema": schema})
    assert (done.output, done.steps["a"].input) == ({"a": 42}, {"n": 41})


def test_a_variable_of_the_child_that_cannot_be_made_fails_the_step_and_no_run_is_made() -> None:
    done = run(document(below("a", "add")), ADD | {"vars": {"v": "{{ input.none }}"}})
    assert ((done.error or {})["type"], done.children) == ("InvalidInput", ())
    assert "vars.v" in (done.error or {})["message"]


def test_what_the_child_holds_secret_is_not_shown_by_the_step() -> None:
    schema = {"type": "object", "properties": {"key": {"type": "string", "writeOnly": True}}}
    child = document(step("use", input={"key": "{{ input.key }}"}), name="child", input_schema=schema, output="fine")
    done = run(document(below("a", "child", input={"key": "hunter22"})), child)
    assert done.steps["a"].input == {"key": "***"}
    assert done.children[0].steps["use"].output == {"key": "hunter22"}


def test_the_childs_error_is_the_steps_error_and_says_where_it_happened() -> None:
    done = run(*levels("top", "middle", "low", leaf=step("leaf", function="fail", input={"message": "no such card"})))
    low = done.children[0].children[0]
    assert done.error == {
        "type": "RuntimeError",
        "message": f"no such card (step 'leaf' of run {low.id} of 'low')",
        "step": "down",
    }
    assert [one.status for one in (done, done.children[0], low)] == ["failed"] * 3
    assert done.children[0].error == done.error
    assert done.steps["down"].reason == "error"


def test_an_error_of_the_childs_run_itself_comes_up_too() -> None:
    done = run(document(below("a", "add", input={"n": 1})), ADD | {"output_schema": {"type": "string"}})
    assert (done.error or {})["type"] == "OutputSchemaError"
    assert f"(run {done.children[0].id} of 'add')" in (done.error or {})["message"]


def test_each_attempt_of_the_step_has_a_child_of_its_own_and_the_old_ones_stay() -> None:
    calls: list[int] = []

    def flaky() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionError("try again")
        return "there"

    child = document(step("call", function="flaky"), name="child")
    parent = document(below("a", "child", retry={"max_attempts": 5, "delay": 10, "retry_on": "ConnectionError"}))
    done = run(parent, child, functions={"flaky": flaky})
    assert (done.status, done.steps["a"].attempts) == ("succeeded", 3)
    assert [one.status for one in done.children] == ["failed", "failed", "succeeded"]
    assert done.steps["a"].child_run_id == done.children[-1].id
    assert done.duration.total_seconds() == 20


def test_retry_on_may_name_that_a_child_failed() -> None:
    child = document(step("call", function="fail"), name="child")
    assert (
        len(run(document(below("a", "child", retry={"max_attempts": 2, "retry_on": "ChildFailed"})), child).children)
        == 2
    )
    assert (
        len(run(document(below("a", "child", retry={"max_attempts": 2, "abort_on": "RuntimeError"})), child).children)
        == 1
    )


def test_a_failed_child_may_be_handled_as_any_failed_step() -> None:
    child = document(step("call", function="fail"), name="child")
    after = {
        "name": "b",
        "pass": True,
        "depends_on": [{"step": "a", "on": "failure"}],
        "input": "{{ steps.a.error.type }}",
    }
    assert run(document(below("a", "child"), after), child).output == {"b": "RuntimeError"}
    done = run(
        document(below("a", "child", on_error="continue"), {"name": "b", "pass": True, "depends_on": "a"}), child
    )
    assert done.status == "succeeded"


def test_a_child_that_ends_as_it_starts_is_not_waited_for() -> None:
    child = document({"name": "x", "pass": True, "input": 7}, name="child")
    done = run(document(below("a", "child")), child)
    assert (done.status, done.output) == ("succeeded", {"a": {"x": 7}})


def test_a_workflow_that_runs_itself_ends_at_the_depth_limit(db: Database) -> None:
    done = run(document(below("again", "w")))
    assert (done.status, (done.error or {})["type"]) == ("failed", "DepthExceeded")
    depths = []
    while done.children:
        (done,) = done.children
        depths.append((done.depth, done.status))
    assert depths == [(depth, "failed") for depth in range(1, 9)]


def test_a_workflow_that_runs_itself_ends_when_its_condition_says_so() -> None:
    doc = document(
        below("again", "w", input={"n": "{{ input.n - 1 }}"}, when="input.n > 0"),
        {"name": "sum", "pass": True, "depends_on": "again", "trigger_rule": "all_done"},
    )
    done = run(doc, input={"n": 5})
    assert done.status == "succeeded"


def test_the_depth_limit_is_a_setting() -> None:
    documents = levels("top", "middle", "low")
    assert run(*documents, settings=Settings(max_depth=2)).status == "succeeded"
    assert (run(*documents, settings=Settings(max_depth=1)).error or {})["type"] == "DepthExceeded"


def test_a_lifecycle_handler_may_run_a_sub_workflow() -> None:
    handler = {"workflow": "add", "input": {"n": 1}}
    done = run(document(step("a"), on_finish=handler), ADD)
    assert (done.status, done.steps["on_finish"].output) == ("succeeded", 2)


def test_sleeps_and_timeouts_of_children_pass_in_the_time_of_the_run() -> None:
    child = document({"name": "nap", "sleep": 100}, name="child")
    assert run(document(below("a", "child")), child).duration.total_seconds() == 100


def test_a_child_is_of_the_apps_own_workflow_which_hides_its_groups(db: Database) -> None:
    hands = Hands(db)
    with db.transaction() as conn:
        workflows.join_group(conn, workflows.ensure_app(conn, "default"), workflows.ensure_group(conn, "team"))

    def child(word: str) -> dict[str, Any]:
        return document({"name": "x", "pass": True, "input": word}, name="child", output="{{ steps.x.output }}")

    register(hands.engine, document(below("a", "child"), name="parent"), group="team")
    register(hands.engine, child("the group's"), group="team")
    found = []
    for own in (None, child("the app's own")):
        if own is not None:
            register(hands.engine, own)
        run_id = start(hands.engine, "parent").run_id
        hands.work()
        found.append(hands.steps(run_id)["a"]["output"])
    assert found == ["the group's", "the app's own"]


def test_an_edit_of_the_childs_workflow_changes_children_that_start_later_only(db: Database) -> None:
    hands = Hands(db)
    run_id = start_family(hands, *levels("top", "low"))
    (down,) = hands.claim()
    hands.settle(down)
    register(hands.engine, document(step("other"), name="low"))
    hands.work()
    assert list(hands.steps(only_child(hands, run_id))) == ["leaf"]


def test_five_hundred_children_of_one_parent_end(db: Database) -> None:
    hands = Hands(db)
    children = soaked(120, 500)
    fan = document(*(below(f"s{n}", "low", input={"n": n}) for n in range(children)), name="fan")
    run_id = start_family(hands, fan, document(step("x", input={"n": "{{ input.n }}"}), name="low"))
    for _ in range(20):
        hands.work()
        tick(hands.engine)  # what found the window full is sent
    assert (hands.status(run_id), len(children_of(hands, run_id)), unwatched(hands)) == ("succeeded", children, [])
    assert hands.steps(run_id)[f"s{children - 1}"]["output"] == {"x": {"n": children - 1}}
