"""Documents to definitions: every key, its shorthands, and all problems of shape at once."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any

import pytest

from orchestrator.domain.build import build
from orchestrator.domain.definition import (
    Backoff,
    Definition,
    Edge,
    EdgeOn,
    FailureMode,
    OnError,
    OnLost,
    OnUnreachable,
    Retry,
    Step,
    StepKind,
    TriggerRule,
    WithItems,
)
from orchestrator.domain.graph import make_plan
from orchestrator.domain.limits import Limits
from orchestrator.domain.load import load_text
from orchestrator.domain.parse import parse
from orchestrator.errors import InvalidDefinition, Problem
from tests.documents import document, step


def problems(source: Any, limits: Limits | None = None) -> list[Problem]:
    with pytest.raises(InvalidDefinition) as caught:
        parse(source, limits=limits or Limits())
    return list(caught.value.problems)


def told(source: Any) -> dict[str, str]:
    """Message by path."""
    return {problem.path: problem.message for problem in problems(source)}


def hints(source: Any) -> dict[str, str | None]:
    return {problem.path: problem.hint for problem in problems(source)}


def one(**keys: Any) -> Step:
    """The step `b` of a document in which it follows `a`."""
    return parse(document(step("a"), step("b", **({"depends_on": ["a"]} | keys)))).steps[1]


EVERYTHING = """
name: everything
version: "1.10"
label: All of it
description: For people.
tags: [x, y]
input_schema: {type: object, properties: {n: {type: integer, default: 1}}}
output_schema: {type: object}
vars: {total: "{{ input.n }}"}
timeout: 60
failure_mode: drain
defaults: {queue: slow, retry: {max_attempts: 2}}
steps:
  - name: first
    function: f
    label: The first
    description: It begins.
    input: {n: "{{ input.n }}"}
    when: input.n > 0
    retry:
      max_attempts: 5
      delay: 1
      backoff: exponential
      factor: 3
      max_delay: 30
      jitter: 0.5
      retry_on: [ValueError, OSError]
      abort_on: KeyError
      while: attempt < 3
    timeout: "{{ input.n * 2 }}"
    total_timeout: 90
    on_error: continue
    on_lost: fail
    publish: {total: "{{ result }}"}
    publish_on_failure: {why: "{{ error.message }}"}
    queue: "{{ vars.total }}"
    priority: 9
  - name: second
    pass:
    depends_on: [first, {step: first, on: failure, when: error.type == 'X'}]
    join: 1
    on_unreachable: fail
  - name: third
    function: g
    depends_on: first
    trigger_rule: all_done
output: {n: "{{ steps.first.output }}"}
on_success: {function: s}
on_failure: {pass: true}
on_cancel: {function: c}
on_finish: {function: e, input: {status: "{{ run.status }}"}}
"""


def test_a_document_with_every_key_becomes_what_it_says() -> None:
    definition = parse(load_text(EVERYTHING))

    first, second, third = definition.steps
    assert first == Step(
        name="first",
        kind=StepKind.FUNCTION,
        function="f",
        label="The first",
        description="It begins.",
        input={"n": "{{ input.n }}"},
        when="input.n > 0",
        retry=Retry(
            max_attempts=5,
            delay=1.0,
            backoff=Backoff.EXPONENTIAL,
            factor=3.0,
            max_delay=30.0,
            jitter=0.5,
            retry_on=("ValueError", "OSError"),
            abort_on=("KeyError",),
            while_="attempt < 3",
        ),
        timeout="{{ input.n * 2 }}",
        total_timeout=90.0,
        on_error=OnError.CONTINUE,
        on_lost=OnLost.FAIL,
        publish={"total": "{{ result }}"},
        publish_on_failure={"why": "{{ error.message }}"},
        queue="{{ vars.total }}",
        priority=9,
    )
    assert second == Step(
        name="second",
        kind=StepKind.PASS,
        depends_on=(Edge("first"), Edge("first", EdgeOn.FAILURE, "error.type == 'X'")),
        join=1,
        on_unreachable=OnUnreachable.FAIL,
        retry=Retry(max_attempts=2),
        queue="slow",
    )
    assert (third.depends_on, third.trigger_rule) == ((Edge("first"),), TriggerRule.ALL_DONE)
    assert definition == Definition(
        name="everything",
        steps=definition.steps,
        version="1.10",
        label="All of it",
        description="For people.",
        tags=("x", "y"),
        input_schema={"type": "object", "properties": {"n": {"type": "integer", "default": 1}}},
        output_schema={"type": "object"},
        vars={"total": "{{ input.n }}"},
        output={"n": "{{ steps.first.output }}"},
        has_output=True,
        timeout=60.0,
        failure_mode=FailureMode.DRAIN,
        handlers=definition.handlers,
    )
    assert {name: (h.name, h.kind, h.function) for name, h in definition.handlers.items()} == {
        "on_success": ("on_success", StepKind.FUNCTION, "s"),
        "on_failure": ("on_failure", StepKind.PASS, None),
        "on_cancel": ("on_cancel", StepKind.FUNCTION, "c"),
        "on_finish": ("on_finish", StepKind.FUNCTION, "e"),
    }


def test_a_stored_document_gives_the_same_definition_without_checks() -> None:
    loaded = {
        "name": "w",
        "steps": [step("a", retry={"delay": 2}), step("b", "a", when=True)],
        "defaults": {"priority": 3},
    }
    assert build(loaded) == parse(loaded)


def test_twenty_thousand_steps_are_parsed_and_one_more_is_refused() -> None:
    limits = Limits(document_bytes=4 << 20)
    steps = [{"name": f"s{i}", "pass": True, "depends_on": f"s{i - 1}"} if i else step("s0") for i in range(20_001)]

    assert len(make_plan(parse(document(*steps[:-1]), limits=limits)).steps) == 20_000
    assert problems(document(*steps), limits) == [Problem("steps", "has 20001 steps; the limit is 20000")]


@pytest.mark.parametrize("nothing", [True, {}, None])
def test_pass_may_be_true_or_empty(nothing: Any) -> None:
    assert parse(document({"name": "a", "pass": nothing})).steps[0].kind is StepKind.PASS


@pytest.mark.parametrize(
    ("written", "edges"),
    [
        ("a", (Edge("a"),)),
        (["a"], (Edge("a"),)),
        ([{"step": "a"}], (Edge("a"),)),
        ([{"step": "a", "on": None}], (Edge("a"),)),
        ([{"step": "a", "on": "complete", "when": False}], (Edge("a", EdgeOn.COMPLETE, "false"),)),
        ([], ()),
        (None, ()),
    ],
)
def test_dependencies_may_be_written_short(written: Any, edges: tuple[Edge, ...]) -> None:
    assert one(depends_on=written).depends_on == edges


@pytest.mark.parametrize(("written", "text"), [(True, "true"), (False, "false"), ("input.x", "input.x"), (None, None)])
def test_a_condition_may_be_a_boolean(written: Any, text: str | None) -> None:
    assert one(when=written).when == text


def test_a_null_is_as_good_as_no_key() -> None:
    keys = ("when", "retry", "timeout", "on_error", "queue", "priority", "publish", "join", "trigger_rule", "label")
    assert one(**dict.fromkeys(keys)) == one()


def test_output_null_is_not_the_same_as_no_output() -> None:
    assert parse(document(step("a"), output=None)).has_output
    assert not parse(document(step("a"))).has_output


def test_whole_numbers_may_be_written_with_a_point() -> None:
    made = one(priority=3.0, join=1.0, retry={"max_attempts": 2.0})
    assert (made.priority, made.join, made.retry) == (3, 1, Retry(max_attempts=2))
    assert isinstance(made.priority, int)


def test_enums_of_python_are_text() -> None:
    assert one(on_error=OnError.ABORT).on_error is OnError.ABORT


# Defaults.


def with_defaults(defaults: dict[str, Any], **keys: Any) -> Step:
    made: dict[str, Any] = document(step("a"), step("b", **({"depends_on": ["a"]} | keys)), defaults=defaults)
    return parse(made).steps[1]


def test_a_steps_own_key_wins_over_the_default_and_is_taken_whole() -> None:
    defaults = {"retry": {"max_attempts": 5, "delay": 3}, "timeout": 10}
    assert with_defaults(defaults, retry={"max_attempts": 2}).retry == Retry(max_attempts=2)
    assert with_defaults(defaults).retry == Retry(max_attempts=5, delay=3.0)
    assert with_defaults(defaults).timeout == 10.0


def test_a_steps_null_takes_the_default_away() -> None:
    assert with_defaults({"retry": {"max_attempts": 5}}, retry=None).retry is None


def test_a_default_function_is_for_steps_that_do_not_say_what_they_do() -> None:
    definition = parse(
        {"name": "w", "defaults": {"function": "f"}, "steps": [{"name": "a"}, {"name": "b", "pass": None}]}
    )
    assert [s.function for s in definition.steps] == ["f", None]


def test_defaults_about_dependencies_leave_steps_alone_that_have_none_or_say_it_another_way() -> None:
    assert with_defaults({"trigger_rule": "all_done"}).trigger_rule is TriggerRule.ALL_DONE
    assert with_defaults({"trigger_rule": "all_done"}, depends_on=[]).trigger_rule is None
    assert with_defaults({"trigger_rule": "all_done"}, join="any").trigger_rule is None
    assert with_defaults({"join": "any"}, trigger_rule="all_done").join == "all"
    assert with_defaults({"join": 1}, depends_on=[]).join == "all"


def test_handlers_take_the_defaults_of_how_a_step_is_carried_out() -> None:
    defaults = {"timeout": 5, "queue": "q", "retry": {"max_attempts": 3}, "when": "false", "input": {"a": 1}}
    made = parse(document(step("a"), defaults=defaults, on_finish={"function": "f"})).handlers["on_finish"]
    assert (made.timeout, made.queue, made.retry) == (5.0, "q", Retry(max_attempts=3))
    assert (made.when, made.input) == (None, None)


# Refusals.


def test_all_problems_are_told_at_once_in_the_order_of_the_steps() -> None:
    bad = document(
        step("a", timeout=0, retry={"max_attempts": 0, "delay": "1"}),
        {"name": "b", "functoin": "f", "depends_on": "nope"},
        7,  # type: ignore[arg-type]
        failure_mode="explode",
    )
    assert [problem.path for problem in problems(bad)] == [
        "failure_mode",
        "steps[0].retry.max_attempts",
        "steps[0].retry.delay",
        "steps[0].timeout",
        "steps[1].functoin",
        "steps[1]",
        "steps[1].depends_on",
        "steps[2]",
    ]


@pytest.mark.parametrize(
    ("keys", "path", "message"),
    [
        ({"timeout": True}, "timeout", "must be a number of seconds, not a boolean"),
        ({"timeout": -1}, "timeout", "must be above 0 and at most 315360000, not -1"),
        ({"timeout": "5"}, "timeout", "must be a number of seconds, or a template of one, not text"),
        ({"total_timeout": 1e12}, "total_timeout", "must be above 0"),
        ({"priority": 10}, "priority", "must be from 0 to 9, not 10"),
        ({"priority": 1.5}, "priority", "must be a whole number, not 1.5"),
        ({"priority": True}, "priority", "must be a whole number, not a boolean"),
        ({"retry": 3}, "retry", "must be a map, not a number"),
        ({"retry": {"max_attempts": 0}}, "retry.max_attempts", "must be from 1 to 1000, not 0"),
        ({"retry": {"max_attempts": 1001}}, "retry.max_attempts", "must be from 1 to 1000, not 1001"),
        ({"retry": {"max_attempts": True}}, "retry.max_attempts", "must be a whole number, not a boolean"),
        ({"retry": {"delay": -0.1}}, "retry.delay", "must be from 0 to 315360000"),
        ({"retry": {"factor": 0.5}}, "retry.factor", "must be from 1 to 1000"),
        ({"retry": {"jitter": 1.1}}, "retry.jitter", "must be from 0 to 1"),
        ({"retry": {"backoff": "expo"}}, "retry.backoff", "must be one of constant, linear, exponential"),
        ({"retry": {"retry_on": [1]}}, "retry.retry_on[0]", "must be text, not a number"),
        ({"retry": {"delay": 5, "max_delay": 4}}, "retry.max_delay", "must be at least the delay (5), not 4"),
        ({"on_error": "retry"}, "on_error", "must be one of fail, ignore, continue, abort; 'retry' is not"),
        ({"on_error": []}, "on_error", "must be one of fail, ignore, continue, abort"),
        ({"when": 1}, "when", "must be an expression, not a number"),
        ({"publish": ["a"]}, "publish", "must be a map of variables, not a list of 1 item"),
        ({"publish": {"": 1}}, "publish", "a variable's name must not be empty"),
        ({"depends_on": 5}, "depends_on", "must be a list of steps, not a number"),
        ({"depends_on": ["a", 5]}, "depends_on[1]", "must be a step's name, or {step, on, when}, not a number"),
        ({"depends_on": [{"on": "failure"}]}, "depends_on[0].step", "is required"),
        ({"depends_on": [{"step": "a", "onn": 1}]}, "depends_on[0].onn", "there is no such key in a dependency"),
        ({"join": 0}, "join", "must be 'all', 'any' or a number of sources, 1 or more"),
        ({"join": 1.5}, "join", "must be 'all', 'any' or a number"),
        ({"join": True}, "join", "must be 'all', 'any' or a number"),
        ({"function": 5}, "function", "must be text, not a number"),
        ({"function": None}, "function", "must not be null"),
        ({"label": ["x"]}, "label", "must be text, not a list of 1 item"),
        ({"queue": ""}, "queue", "must not be empty"),
        ({"name": " b"}, "name", "must not begin or end with a blank"),
        ({"name": ""}, "name", "must not be empty"),
        ({"name": "x" * 256}, "name", "must be 255 characters or shorter, not 256"),
        ({"name": "a\tb"}, "name", "must be printable: U+0009 is not"),
        ({"name": "a\u202eb"}, "name", "must be printable: U+202E is not"),
        ({"name": "on_finish"}, "name", "'on_finish' is the name of a lifecycle handler"),
        ({"name": 5}, "name", "must be text, not a number"),
    ],
)
def test_a_value_that_does_not_fit_is_told_by_its_path(keys: dict[str, Any], path: str, message: str) -> None:
    made = told(document(step("a"), {"name": "b", "function": "f", "depends_on": ["a"]} | keys))
    assert list(made) == [f"steps[1].{path}"]
    assert made[f"steps[1].{path}"].startswith(message)


@pytest.mark.parametrize(
    ("keys", "path", "message"),
    [
        ({"max_active_runs": 0}, "max_active_runs", "must be from 1 to"),
        ({"on_limit": "reject"}, "on_limit", "goes with 'max_active_runs'"),
        ({"concurrency_key": "a"}, "concurrency_key", "goes with 'max_active_runs'"),
        ({"max_active_runs": 1, "concurrency_key": "{{ vars.a }}"}, "concurrency_key", "'vars' is not there"),
        ({"max_active_runs": 1, "on_limit": "wait"}, "on_limit", "must be one of queue, reject, cancel_oldest"),
        ({"defaults": {"slots": 2}}, "defaults.slots", "says how many slots"),
    ],
)
def test_a_limit_that_cannot_be_is_told(keys: dict[str, Any], path: str, message: str) -> None:
    made = told(document(step("a"), **keys))
    assert list(made) == [path]
    assert made[path].startswith(message)


@pytest.mark.parametrize(
    ("wait", "path", "message"),
    [
        ({}, "", "needs 'event' or 'approval'"),
        ({"event": "e", "approval": {"title": "t"}}, "", "has both 'event' and 'approval'"),
        ({"event": "approval:x"}, ".event", "names with 'approval:'"),
        ({"event": "e", "schema": {"type": "txt"}}, ".schema.type", ""),
        ({"approval": {"title": "t"}, "schema": {}}, ".schema", "belongs to an event"),
        ({"approval": {"title": "t", "fields": {"a": {"type": "txt"}}}}, ".approval.fields.a.type", ""),
        ({"approval": {"title": "{{ nothing }}"}}, ".approval.title", "'nothing' is not defined"),
        ({"event": "{{ steps.b }}"}, ".event", "unknown step 'b'"),
        ({"event": "e", "timeout": 0}, ".timeout", "must be above 0"),
        ({"event": "e", "on_timeout": "wait"}, ".on_timeout", "must be one of fail, skip, continue"),
    ],
)
def test_a_wait_that_cannot_be_is_told(wait: dict[str, Any], path: str, message: str) -> None:
    made = told(document({"name": "a", "wait_for": wait}))
    assert list(made) == [f"steps[0].wait_for{path}"]
    assert made[f"steps[0].wait_for{path}"].startswith(message)


@pytest.mark.parametrize("value", [-1, "tomorrow", True, []])
def test_a_sleep_that_cannot_be_is_told(value: Any) -> None:
    assert list(told(document({"name": "a", "sleep": value}))) == ["steps[0].sleep"]


@pytest.mark.parametrize("items", ["{{ input.xs }}", [1, 2], [], {"items": "{{ input.xs }}"}, {"items": {"a": 1}}])
def test_items_are_a_template_or_are_written_down(items: Any) -> None:
    asked = parse(document(step("a", with_items=items))).steps[0].with_items
    assert asked is not None
    assert asked.items == (items["items"] if isinstance(items, dict) else items)


def test_a_map_says_more_about_items() -> None:
    said = {"items": [1], "concurrency": 3, "batch_size": 2.0, "fail_fast": True, "max_failures": "12.5%"}
    asked = parse(document(step("a", with_items=said))).steps[0].with_items
    assert asked == WithItems([1], concurrency=3, batch_size=2, fail_fast=True, max_failures="12.5%")
    assert parse(document(step("a", with_items=[1]))).steps[0].with_items == WithItems([1])


@pytest.mark.parametrize(
    ("items", "path", "message"),
    [
        ("input.xs", "", "must be a template, a list, or a map with 'items', not text"),
        (5, "", "must be a template, a list, or a map with 'items', not a number"),
        (None, "", "must not be null"),
        ({}, ".items", "is required"),
        ({"items": "xs"}, ".items", "must be a template, a list or a map, not text"),
        ({"items": [], "concurrency": 0}, ".concurrency", "must be from 1 to 1048576, not 0"),
        ({"items": [], "batch_size": 1.5}, ".batch_size", "must be a whole number, not 1.5"),
        ({"items": [], "fail_fast": "yes"}, ".fail_fast", "must be true or false, not text"),
        ({"items": [], "max_failures": "many"}, ".max_failures", "must be a whole number, or a share of all items"),
        ({"items": [], "max_failures": "100.5%"}, ".max_failures", "must be a whole number, or a share of all items"),
        ({"items": [], "max_failures": -1}, ".max_failures", "must be from 0 to 1048576, not -1"),
        ({"items": [], "limit": 1}, ".limit", "there is no such key in with_items"),
    ],
)
def test_what_is_wrong_with_items_is_told_by_its_path(items: Any, path: str, message: str) -> None:
    made = told(document(step("a", with_items=items)))
    assert list(made) == [f"steps[0].with_items{path}"]
    assert made[f"steps[0].with_items{path}"].startswith(message)


@pytest.mark.parametrize("where", ["defaults", "on_finish"])
def test_items_are_for_steps_only(where: str) -> None:
    made: dict[str, Any] = {"with_items": [1]} | ({"function": "f"} if where == "on_finish" else {})
    assert "there is no such key" in told(document(step("a"), **{where: made}))[f"{where}.with_items"]


@pytest.mark.parametrize("name", ["celery:", "celery: x"])
def test_a_celery_function_names_a_task(name: str) -> None:
    assert told(document(step("a", function=name))) == {"steps[0].function": "must name a Celery task"}
    assert hints(document(step("a", function=name))) == {"steps[0].function": "as in 'celery:proj.tasks.add'"}
    assert parse(document(step("a", function="celery:proj.tasks.add"))).steps[0].function == "celery:proj.tasks.add"


def test_a_step_does_exactly_one_thing() -> None:
    nothing = "needs 'function', 'pass', 'sleep', 'wait_for' or 'workflow': it does not say what to do"
    assert told(document({"name": "a"})) == {"steps[0]": nothing}
    assert told(document({"name": "a", "with_items": [1], "cache": {"ttl": 1}})) == {"steps[0]": nothing}
    both = told(document({"name": "a", "function": "f", "pass": True}))
    assert both == {"steps[0]": "has 'function' and 'pass'; a step does one thing"}
    assert told(document({"name": "a", "pass": False})) == {"steps[0].pass": "must be true: the step does nothing"}
    assert told(document(step("a"), on_finish={})) == {"on_finish": nothing}


@pytest.mark.parametrize(
    ("made", "path", "hint"),
    [
        (document(step("a"), descripton="x"), "descripton", "did you mean 'description'?"),
        (document(step("a", functoin="x")), "steps[0].functoin", "did you mean 'function'?"),
        (document(step("a", needs=["b"])), "steps[0].needs", "did you mean 'depends_on'?"),
        (document(step("a", retry={"max_retries": 1})), "steps[0].retry.max_retries", "did you mean 'max_attempts'?"),
        (document(step("a", on_error="ignor")), "steps[0].on_error", "did you mean 'ignore'?"),
        (document(step("a"), version=1.1), "version", "put it in quotes"),
        (document(step("a"), on_finish={"function": "f", "queu": "x"}), "on_finish.queu", "did you mean 'queue'?"),
        (document(step("a"), defaults={"timout": 1}), "defaults.timout", "did you mean 'timeout'?"),
    ],
)
def test_hints_say_how_to_mend_it(made: Any, path: str, hint: str) -> None:
    assert hints(made) == {path: hint}


def test_an_unknown_key_that_is_like_none_is_told_with_those_there_are() -> None:
    (problem,) = problems(document(step("a", retry={"zzz": 1})))
    assert problem.hint is not None
    assert problem.hint.startswith("its keys are max_attempts, delay, backoff")


@pytest.mark.parametrize("key", ["name", "depends_on", "pass", "label", "description"])
def test_some_keys_are_no_defaults(key: str) -> None:
    assert f"defaults.{key}" in told(document(step("a"), defaults={key: "x"}))


@pytest.mark.parametrize("key", ["name", "depends_on", "trigger_rule", "join", "on_unreachable"])
def test_some_keys_do_not_go_with_handlers(key: str) -> None:
    assert told(document(step("a"), on_finish={"function": "f", key: "x"})) == {
        f"on_finish.{key}": "there is no such key in a lifecycle handler"
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "this is not a workflow document: it must be a map, not null"),
        ([], "this is not a workflow document: it must be a map, not a list of 0 items"),
        ("name: x", "this is not a workflow document: it must be a map, not text"),
    ],
)
def test_what_is_no_map_is_no_workflow(source: Any, message: str) -> None:
    assert problems(source) == [Problem("", message)]


def test_name_and_steps_are_required() -> None:
    assert told({}) == {"name": "is required", "steps": "is required"}
    assert told({"name": None, "steps": None}) == {"name": "must not be null", "steps": "must not be null"}
    assert told({"name": "x", "steps": []}) == {"steps": "must have at least one step"}
    assert told({"name": "x", "steps": {"a": {}}}) == {"steps": "must be a list of steps, not a map"}


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ({1, 2}, "steps[0].input.x", "a set is not plain JSON; use a list"),
        ((1, 2), "steps[0].input.x", "a tuple is not plain JSON; use a list"),
        (math.nan, "steps[0].input.x", "nan is not a number that JSON can hold"),
        ([math.inf], "steps[0].input.x[0]", "inf is not a number that JSON can hold"),
        (b"x", "steps[0].input.x", "a bytes is not plain JSON"),
        ({1: 2}, "steps[0].input.x", "a key must be a text, not int"),
        ("a\0b", "steps[0].input.x", "a text holds the character NUL, which cannot be stored"),
        ({"\ud800": 1}, "steps[0].input.x", "a text holds half of a surrogate pair (\\ud800), which is no character"),
        (10**400, "steps[0].input.x", "a number has more than 300 digits"),
    ],
)
def test_data_that_json_cannot_hold_is_told_by_its_path(value: Any, path: str, message: str) -> None:
    assert told(document(step("a", input={"x": value}))) == {path: message}


def test_text_of_an_enum_is_text() -> None:
    assert parse(document(step("a", input={"x": Colour.RED}))).steps[0].input == {"x": "red"}


def test_a_value_that_holds_itself_is_too_deep() -> None:
    endless: list[Any] = []
    endless.append(endless)
    (problem,) = problems(document(step("a", input={"x": endless})))
    assert problem.message == "lists and maps are nested more than 100 levels deep"


def test_data_over_a_megabyte_is_refused() -> None:
    (problem,) = problems(document(step("a"), description="x" * 2_000_000))
    assert problem == Problem("", "as JSON it is larger than 1048576 bytes, the limit")


def test_more_problems_than_anyone_reads_are_counted() -> None:
    found = problems(document(*[step(f"s{i}", timeout=0) for i in range(2000)]))
    assert len(found) == 501
    assert found[-1] == Problem("", "and at least 1500 more problems")


def test_names_of_any_script_are_kept_as_they_are() -> None:
    names = [
        "a/b#c:d%e.f-g",
        "заказ",
        "支払い",
        "مرحلة",
        "👩‍👩‍👧 family",
        "می‌خواهم",
        "x" * 255,
        "constructor",
        "__proto__",
    ]
    assert [s.name for s in parse(document(*map(step, names))).steps] == names
