"""What must hold between the parts of a document."""

from __future__ import annotations

import random
from typing import Any

import pytest

from orchestrator.domain.checks import templates
from orchestrator.domain.checks.upstream import not_upstream
from orchestrator.domain.definition import Definition, Edge, Step, StepKind
from orchestrator.domain.expressions import References, read_template
from orchestrator.domain.limits import Limits
from orchestrator.domain.parse import parse
from orchestrator.domain.validate import warnings
from orchestrator.errors import InvalidDefinition, Problem
from tests.documents import document, on, step


def problems(made: dict[str, Any]) -> list[Problem]:
    with pytest.raises(InvalidDefinition) as caught:
        parse(made)
    return list(caught.value.problems)


def told(made: dict[str, Any]) -> dict[str, str]:
    return {problem.path: problem.message for problem in problems(made)}


def places(made: dict[str, Any]) -> set[str]:
    """Where a document has problems, if it has any."""
    try:
        parse(made)
    except InvalidDefinition as error:
        return {problem.path for problem in error.problems}
    return set()


# Names and edges.


def test_a_name_used_twice_is_told_with_both_places() -> None:
    assert told(document(step("a"), step("b"), step("a"))) == {"steps[2].name": "'a' is already the name of steps[0]"}
    assert parse(document(step("a"), step("A")))


def test_an_unknown_source_is_told_with_the_nearest_name() -> None:
    assert problems(document(step("charge"), step("b", "chrage"))) == [
        Problem("steps[1].depends_on[0]", "unknown step 'chrage'", "did you mean 'charge'?")
    ]


def test_a_lone_dependency_is_told_without_an_index() -> None:
    assert told(document(step("a", depends_on="b"))) == {"steps[0].depends_on": "unknown step 'b'"}


def test_a_handler_cannot_be_depended_on() -> None:
    made = document(step("a", "on_finish"), on_finish={"function": "f"})
    assert told(made) == {"steps[0].depends_on[0]": "'on_finish' is a lifecycle handler; steps cannot depend on it"}


def test_a_step_cannot_depend_on_itself() -> None:
    assert told(document(step("a", "a"))) == {"steps[0].depends_on[0]": "step 'a' depends on itself"}


def test_a_circle_is_told_by_its_steps() -> None:
    made = document(step("a", "c"), step("b", "a"), step("c", "b"), step("free"))
    (problem,) = problems(made)
    circle = problem.message.removeprefix("the steps depend on each other in a circle: ").split(" -> ")
    assert circle[0] == circle[-1]
    assert set(circle) == {"a", "b", "c"}
    assert [circle[circle.index("a") + 1]] == ["b"]


def test_every_circle_is_told_and_what_is_behind_one() -> None:
    made = document(step("a", "b"), step("b", "a"), step("c", "d"), step("d", "c"), step("e", "a"), step("f", "e"))
    found = problems(made)
    assert sum("in a circle" in problem.message for problem in found) == 2
    assert [problem.path for problem in found if "can never start" in problem.message] == [
        "steps[4].depends_on",
        "steps[5].depends_on",
    ]


def test_a_long_circle_is_told_in_short() -> None:
    size = 5_000
    (problem,) = problems(document(*[step(f"s{i}", f"s{(i + 1) % size}") for i in range(size)]))
    assert f"({size - 11} more)" in problem.message
    assert len(problem.message) < 300


def test_the_same_edge_twice_is_refused_and_different_ones_from_one_source_are_not() -> None:
    assert told(document(step("a"), step("b", "a", "a"))) == {
        "steps[1].depends_on[1]": "says the same as depends_on[0]"
    }
    assert told(document(step("a"), step("b", depends_on=["a", on("a", "success")]))) == {
        "steps[1].depends_on[1]": "says the same as depends_on[0]"
    }
    assert parse(document(step("a"), step("b", depends_on=[on("a", "success"), on("a", "failure")])))


# How a start is decided.


@pytest.mark.parametrize("other", [{"join": "any"}, {"join": 1}, {"on_unreachable": "fail"}])
def test_a_trigger_rule_stands_alone(other: dict[str, Any]) -> None:
    (path, message) = told(document(step("a"), step("b", "a", trigger_rule="all_done", **other))).popitem()
    assert path == "steps[1].trigger_rule"
    assert message.startswith(f"cannot be combined with '{next(iter(other))}'")


@pytest.mark.parametrize("edge", [on("a", "failure"), on("a", "complete"), {"step": "a", "when": "true"}])
def test_a_trigger_rule_goes_with_plain_edges_only(edge: dict[str, Any]) -> None:
    made = told(document(step("a"), step("b", depends_on=[edge], trigger_rule="all_done")))
    assert made["steps[1].trigger_rule"].startswith("goes with plain dependencies only")
    made = told(document(step("a"), step("b", depends_on=[edge]), defaults={"trigger_rule": "all_done"}))
    assert made["defaults.trigger_rule"].startswith("goes with plain dependencies only")


def test_a_trigger_rule_takes_edges_that_are_written_long() -> None:
    assert parse(document(step("a"), step("b", depends_on=[on("a", "success")], trigger_rule="all_done")))
    assert parse(document(step("a", trigger_rule="one_failed", depends_on=[])))


def test_a_join_asks_for_no_more_than_there_are_distinct_sources() -> None:
    assert told(document(step("a"), step("b", depends_on=[on("a", "success"), on("a", "failure")], join=2))) == {
        "steps[1].join": "asks for 2 sources, but the step depends on 1"
    }
    assert told(document(step("a", join=1))) == {"steps[0].join": "asks for 1 sources, but the step depends on none"}
    assert parse(document(step("a"), step("b"), step("c", "a", "b", join=2)))


def test_defaults_cannot_say_both() -> None:
    made = document(step("a"), defaults={"trigger_rule": "always", "join": "any"})
    assert told(made) == {"defaults.trigger_rule": "cannot be combined with 'join'"}


def test_the_retry_of_defaults_is_told_once() -> None:
    made = document(step("a"), step("b"), defaults={"retry": {"delay": 9, "max_delay": 1}})
    assert told(made) == {"defaults.retry.max_delay": "must be at least the delay (9), not 1"}
    assert len(problems(made)) == 1


@pytest.mark.parametrize("value", [[1], 5, "text", True])
def test_a_functions_input_is_a_map_or_a_template(value: Any) -> None:
    made = told(document(step("a", input=value)))
    assert made["steps[0].input"].startswith("must be a map of the function's keyword arguments")
    assert parse(document({"name": "a", "pass": True, "input": value}))
    assert parse(document(step("a", input="{{ input }}")))


def test_a_handler_cannot_abort() -> None:
    made = document(step("a"), on_finish={"function": "f", "on_error": "abort"})
    assert told(made) == {"on_finish.on_error": "a handler cannot abort: the run has already ended"}


# Templates.


def test_every_template_that_cannot_be_read_is_told_by_its_path() -> None:
    made = document(
        step("a", input={"x": ["{{ 1 + }}", "fine", "{{ input.a"], "y.z": "{{ ) }}"}),
        step("b", "a", when="1 +", retry={"while": "("}, publish={"v": "{{ }}"}, queue="{{ % }}", timeout="{{ 1 1 }}"),
        step("c", depends_on=[{"step": "a", "when": "a b"}]),
        vars={"v": "{{ nope( }}"},
        output={"o": ["{{ 'x }}"]},
        on_finish={"function": "f", "input": {"a": "{{ {% }}"}},
    )
    assert sorted(told(made)) == sorted(
        [
            "steps[0].input.x[0]",
            "steps[0].input.x[2]",
            "steps[0].input['y.z']",
            "steps[1].when",
            "steps[1].retry.while",
            "steps[1].publish.v",
            "steps[1].queue",
            "steps[1].timeout",
            "steps[2].depends_on[0].when",
            "vars.v",
            "output.o[0]",
            "on_finish.input.a",
        ]
    )


STEP_NAMES = {"input", "vars", "steps.a", "run", "config"}
PLACES = {
    "steps[1].input.x": (STEP_NAMES | {"secrets.s"}, lambda t: {"input": {"x": t}}),
    "steps[1].when": (STEP_NAMES, lambda t: {"when": t}),
    "steps[1].queue": (STEP_NAMES, lambda t: {"queue": t}),
    "steps[1].timeout": (STEP_NAMES, lambda t: {"timeout": t}),
    "steps[1].total_timeout": (STEP_NAMES, lambda t: {"total_timeout": t}),
    "steps[1].publish.v": (STEP_NAMES | {"result"}, lambda t: {"publish": {"v": t}}),
    "steps[1].publish_on_failure.v": (STEP_NAMES | {"error"}, lambda t: {"publish_on_failure": {"v": t}}),
    "steps[1].retry.while": (STEP_NAMES | {"result", "error", "attempt"}, lambda t: {"retry": {"while": t}}),
    "steps[1].depends_on[0].when": (
        STEP_NAMES | {"result", "error"},
        lambda t: {"depends_on": [{"step": "a", "on": "complete", "when": t}]},
    ),
}
ALL_NAMES = sorted(STEP_NAMES | {"secrets.s", "result", "error", "attempt", "item", "index"})


@pytest.mark.parametrize("name", ALL_NAMES)
@pytest.mark.parametrize("place", PLACES)
def test_each_place_has_its_names(place: str, name: str) -> None:
    allowed, keys = PLACES[place]
    made = document(step("a"), step("b", **({"depends_on": ["a"]} | keys(f"{{{{ {name} }}}}"))))
    if name in allowed:
        assert parse(made)
    else:
        assert list(told(made)) == [place]


@pytest.mark.parametrize("name", ALL_NAMES)
def test_documents_and_handlers_have_their_names(name: str) -> None:
    text = f"{{{{ {name} }}}}"
    places = {
        "vars.v": ({"input", "run", "config"}, {"vars": {"v": text}}),
        "output": (STEP_NAMES, {"output": text}),
        "on_finish.input.x": (STEP_NAMES | {"secrets.s"}, {"on_finish": {"function": "f", "input": {"x": text}}}),
    }
    for place, (allowed, keys) in places.items():
        made = document(step("a"), **keys)
        if name in allowed:
            assert parse(made)
        else:
            assert list(told(made)) == [place]


def test_a_pass_step_has_no_secrets() -> None:
    made = document({"name": "a", "pass": True, "input": "{{ secrets.token }}"})
    assert "'secrets' is not there in this place" in told(made)["steps[0].input"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("{{ inptu.x }}", "'inptu' is not defined; there are config, input, run, secrets, steps, vars", "'input'"),
        ("{{ charge.output }}", "'charge' is not defined", "'steps.charge'"),
        ("{{ steps.chrage.output }}", "unknown step 'chrage'", "'charge'"),
        ("{{ steps.charge.ouput }}", "'steps.charge' has no 'ouput', but status, output, error, attempt", "'output'"),
        ("{{ steps.charge.error.mesage }}", "'steps.charge.error' has no 'mesage', but type, message", "'message'"),
        ("{{ run.idd }}", "'run' has no 'idd'", "'id'"),
        (
            "{{ steps.charge['items'] }}",
            "'steps.charge.items' is for steps with 'with_items', and 'charge' has none",
            None,
        ),
        ("{{ steps.b.output }}", "step 'b' reads itself", None),
        ("{{ steps.on_finish.output }}", "'on_finish' runs after this", None),
    ],
)
def test_a_name_that_is_not_there_is_told_with_a_hint(text: str, message: str, hint: str | None) -> None:
    made = document(step("charge"), step("b", "charge", input={"x": text}), on_finish={"function": "f"})
    (problem,) = problems(made)
    assert problem.path == "steps[1].input.x"
    assert problem.message.startswith(message)
    assert problem.hint == (hint and f"did you mean {hint}?")


@pytest.mark.parametrize("key", ["input", "timeout"])
def test_an_item_is_known_where_it_is_attempted(key: str) -> None:
    keys = {"input": {"x": "{{ item }}", "i": "{{ index }}"}} if key == "input" else {"timeout": "{{ item + index }}"}
    assert parse(document(step("a", with_items=[1], **keys))).steps
    told = problems(document(step("a", **keys)))
    assert {p.message.partition(",")[0] for p in told} <= {
        "'item' is not there in this place",
        "'index' is not there in this place",
    }
    assert len(told) == 2


@pytest.mark.parametrize("key", ["when", "queue", "total_timeout", "with_items", "publish"])
def test_an_item_is_not_known_elsewhere(key: str) -> None:
    value: Any = {"v": "{{ item }}"} if key == "publish" else "{{ item }}"
    (problem,) = problems(document(step("a", **({"with_items": [1]} | {key: value}))))
    assert problem.message.startswith(
        "'item' is not there in this place, but in what is done for each item of a step with"
    )


@pytest.mark.parametrize(
    ("written", "path"), [("{{ steps.b.output }}", ""), ({"items": ["{{ steps.b.output }}"]}, ".items[0]")]
)
def test_the_items_read_what_is_upstream(written: Any, path: str) -> None:
    (problem,) = problems(document(step("a", with_items=written), step("b")))
    assert (problem.path, problem.hint) == (f"steps[0].with_items{path}", "let 'a' depend on it")


ASKED = {"title": "{{ item }}?", "description": "{{ index }}", "assignees": ["{{ item }}"]}


@pytest.mark.parametrize(
    "kind",
    [
        {"sleep": "{{ item + index }}"},
        {"workflow": "w-{{ item }}", "input": {"x": "{{ index }}"}},
        {"wait_for": {"event": "e-{{ item }}-{{ index }}", "timeout": "{{ item }}"}},
        {"wait_for": {"approval": ASKED}},
        {"function": "celery:proj.task", "input": {"x": "{{ item }}"}},
    ],
)
def test_items_sleep_wait_run_workflows_and_call_tasks(kind: dict[str, Any]) -> None:
    assert parse(document({"name": "a", "with_items": [1], **kind})).steps
    told = problems(document({"name": "a", **kind}))
    assert all(" is not there in this place" in problem.message for problem in told)
    assert told


def test_items_do_not_go_with_what_does_nothing_nor_with_handlers() -> None:
    (problem,) = problems(document({"name": "a", "with_items": [1], "pass": True}))
    assert problem.message == "does nothing for its items: a 'pass' step only passes its 'input' on"
    handler = {"function": "f", "with_items": [1]}
    (problem,) = problems(document(step("a"), on_failure=handler))
    assert (problem.path, problem.message) == (
        "on_failure.with_items",
        "there is no such key in a lifecycle handler",
    )
    (problem,) = problems(document(step("a", compensate=handler)))
    assert problem.path == "steps[0].compensate.with_items"


def test_counts_of_items_are_read_of_steps_that_have_them() -> None:
    reads = step("b", "a", input={"n": "{{ steps.a.items.failed }}"})
    assert parse(document(step("a", with_items=[1]), reads)).steps


def test_a_step_that_is_read_must_be_upstream() -> None:
    made = document(step("a"), step("b", "a"), step("c", "b", input={"x": "{{ steps.a.output }}"}), step("d"))
    assert parse(made)
    made["steps"][0]["input"] = {"x": "{{ steps.c.output }}"}
    made["steps"][3]["when"] = "steps['a'].status == 'succeeded'"
    assert told(made) == {
        "steps[0].input.x": "step 'c' is not upstream of 'a': it may not have ended when this is read",
        "steps[3].when": "step 'a' is not upstream of 'd': it may not have ended when this is read",
    }


def test_the_condition_of_an_edge_reads_its_source_and_what_is_above_it() -> None:
    steps = [step("top"), step("a", "top"), step("b")]
    edge = {"step": "a", "when": "steps.a.output and steps.top.output"}
    assert parse(document(*steps, step("c", depends_on=[edge, "b"])))
    edge = {"step": "a", "when": "steps.b.output"}
    assert told(document(*steps, step("c", depends_on=[edge, "b"]))) == {
        "steps[3].depends_on[0].when": "step 'b' is not upstream of 'a': it may not have ended when this is read"
    }


def test_output_and_handlers_read_any_step() -> None:
    text = "{{ steps.a.output }} {{ steps.b.output }}"
    assert parse(document(step("a"), step("b"), output=text, on_finish={"function": "f", "input": {"x": text}}))
    made = document(step("a"), output="{{ steps.on_finish.output }}", on_finish={"function": "f"})
    assert told(made) == {"output": "'on_finish' runs after this, or not at all"}


def test_on_finish_reads_the_handlers_before_it() -> None:
    handlers = {
        "on_failure": {"function": "f"},
        "on_finish": {"function": "f", "input": {"x": "{{ steps.on_failure.status }}"}},
    }
    assert parse(document(step("a"), **handlers))
    assert "on_finish.input.x" in told(document(step("a"), on_finish=handlers["on_finish"]))


def test_templates_of_defaults_are_told_where_they_stand() -> None:
    made = document(step("a"), step("b", queue="q"), step("c"), defaults={"queue": "{{ nope }}"})
    assert list(told(made)) == ["defaults.queue"]
    assert len(problems(made)) == 1


def test_what_another_problem_hides_is_not_told() -> None:
    made = document(
        step("a"), {"name": "b", "function": "f", "depends_on": [5], "input": {"x": "{{ steps.a.output }}"}}
    )
    assert list(told(made)) == ["steps[1].depends_on[0]"]
    made = document({"name": "a", "function": 5, "input": {"x": "{{ secrets.x }}"}}, step("b", "a"))
    assert list(told(made)) == ["steps[0].function"]
    made = document({"name": "on_finish", "function": "f"}, step("b", "on_finish"))
    assert list(told(made)) == ["steps[0].name"]


@pytest.mark.parametrize(
    "text",
    [
        "{{ range(10**9) | list }}",
        "{{ 'x' * 10**9 }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ " + "(" * 500 + "1" + ")" * 500,
    ]
    + [
        "{{ " + "+".join(["1"] * 5000) + " }}",
        "{{ " * 2000,
        "{{ " + "[" * 5000 + " }}",
        "{{ x" * 1000,
        "{{" + "}" * 99,
    ],
)
def test_templates_that_loop_or_explode_end_at_once(text: str) -> None:
    """They are refused, or accepted here and bounded when they are rendered; never anything else."""
    assert places(document(step("a", input={"x": text}))) <= {"steps[0].input.x"}


# Upstream, against a plain walk.


def reachable(steps: list[Step], name: str) -> set[str]:
    above = {s.name: {edge.step for edge in s.depends_on} for s in steps}
    found: set[str] = set()
    todo = list(above[name])
    while todo:
        source = todo.pop()
        if source not in found:
            found.add(source)
            todo.extend(above[source])
    return found


@pytest.mark.parametrize("seed", range(5))
def test_what_is_upstream_is_what_a_walk_finds(seed: int) -> None:
    chance = random.Random(seed)
    names = [f"s{i}" for i in range(60)]
    steps = [
        Step(
            name,
            StepKind.PASS,
            depends_on=tuple(Edge(n) for n in chance.sample(names[:i], min(i, chance.randint(0, 3)))),
        )
        for i, name in enumerate(names)
    ]
    chance.shuffle(steps)
    pairs = {(a, b) for a in names for b in names if a != b}
    assert not_upstream(steps, pairs) == {(a, b) for a, b in pairs if b not in reachable(steps, a)}


def test_twenty_thousand_steps_that_all_read_the_first_are_accepted() -> None:
    steps = [step("s0")] + [step(f"s{i}", f"s{i - 1}", input={"x": "{{ steps.s0.output }}"}) for i in range(1, 20_000)]
    assert len(parse(document(*steps), limits=Limits(document_bytes=8 << 20)).steps) == 20_000


def test_equal_expressions_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counting(text: str) -> References:
        read.append(text)
        return read_template(text)

    monkeypatch.setattr(templates, "read_template", counting)
    texts = [f"{{{{ input.a{i} | default(1) }}}}" for i in range(5_000)]
    assert parse(document(step("a", input={"x": texts * 4}), output=texts))
    assert sorted(read) == sorted(texts)


def test_the_different_expressions_of_a_document_have_a_limit_together() -> None:
    """A word or sign for every four bytes that the document may have; equal expressions count once."""
    sums = [f"{{{{{i}{'+1' * 98}}}}}" for i in range(10)]  # 201 words and signs each
    limits = Limits(document_bytes=4 * 201 * 5)
    assert parse(document(step("a", input={"x": [*sums[:5], sums[0]]})), limits=limits)
    assert parse(document(step("a", input={"x": sums})), limits=Limits(document_bytes=4 * 201 * 10))
    with pytest.raises(InvalidDefinition) as caught:
        parse(document(step("a", input={"x": sums[:8]}), step("b", when=sums[9], input={"x": sums[0]})), limits=limits)
    (problem,) = caught.value.problems
    assert problem.path == "steps[0].input.x[5]"
    assert problem.message == "the document's expressions up to this one have more than 1005 words and signs"


# JSON Schemas.


@pytest.mark.parametrize("key", ["input_schema", "output_schema"])
@pytest.mark.parametrize(
    ("schema", "path", "message"),
    [
        (
            {"type": "strin"},
            "type",
            "must be one or more of array, boolean, integer, null, number, object, string, not text",
        ),
        ({"properties": {"a": {"minimum": "x"}}}, "properties.a.minimum", "must be a number, not text"),
        ({"required": "a"}, "required", "must be a list of different names, not text"),
        ({"properties": {"a": 5}}, "properties.a", "must be a schema (a map, or true or false), not a number"),
        ({"items": [{}]}, "items", "must be a schema (a map, or true or false), not a list of 1 item"),
        ({"pattern": "("}, "pattern", "'(' is not a regular expression"),
        ({"patternProperties": {"[": {}}}, "patternProperties['[']", "'[' is not a regular expression"),
        ({"$ref": "http://example.org/a.json"}, "$ref", "is outside of this schema; nothing is fetched"),
        ({"$ref": "file:///etc/passwd"}, "$ref", "is outside of this schema; nothing is fetched"),
        ({"properties": {"a": {"$ref": "other.json#/x"}}}, "properties.a.$ref", "is outside of this schema"),
        ({"$ref": "#/$defs/nope"}, "$ref", "there is no '#/$defs/nope' in this schema"),
        ({"$ref": "#nope"}, "$ref", "there is no '#nope' in this schema"),
        ({"$ref": "#/properties", "properties": {}}, "$ref", "'#/properties' is not a schema"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "$schema", "only JSON Schema 2020-12 is understood"),
        ({"$defs": {"a": {"$id": "x"}}}, "$defs.a.$id", "'$id' is understood at the top of the schema only"),
        (
            {"properties": {"n": {"type": "integer", "default": "x"}}},
            "properties.n.default",
            "its own schema refuses it",
        ),
        (
            {"properties": {"o": {"default": {}, "required": ["a"], "properties": {"a": {"type": "string"}}}}},
            "properties.o.default.a",
            "its own schema refuses it: is required",
        ),
    ],
)
def test_a_schema_that_cannot_be_used_is_told(key: str, schema: dict[str, Any], path: str, message: str) -> None:
    made = told(document(step("a"), **{key: schema}))
    assert list(made) == [f"{key}.{path}"]
    assert message in made[f"{key}.{path}"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}},
        {"if": {"$ref": "#"}},
    ],
)
def test_a_schema_that_leads_back_to_itself_is_refused(schema: dict[str, Any]) -> None:
    assert "leads back to itself" in told(document(step("a"), input_schema=schema))["input_schema"]


def test_defaults_without_end_are_refused() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/n", "default": {}}}, "$defs": {"n": {"$ref": "#"}}}
    assert told(document(step("a"), input_schema=schema)) == {
        "input_schema.properties.a.default": "its defaults are nested without end"
    }


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.org/x", "type": "object"},
        {
            "properties": {"tree": {"$ref": "#/$defs/tree"}},
            "$defs": {"tree": {"properties": {"l": {"$ref": "#/$defs/tree"}}}},
        },
        {"properties": {"a": {"$ref": "#here"}}, "$defs": {"x": {"$anchor": "here", "type": "string"}}},
        {"properties": {"$ref": {"type": "string"}, "pattern": {"type": "string"}, "default": {"type": "integer"}}},
        {"enum": [{"$ref": "http://example.org"}], "default": {"$ref": "http://example.org"}},
        {"properties": {"a": {"default": {"x": 1}, "properties": {"y": {"default": 2}}, "required": ["y"]}}},
        {"properties": {"name": {"pattern": r"^\p{L}+$"}}},
        {"properties": {"password": {"type": "string", "writeOnly": True}}},
    ],
)
def test_usable_schemas_are_accepted(schema: dict[str, Any]) -> None:
    assert parse(document(step("a"), input_schema=schema, output_schema=schema))


def test_a_deeply_nested_schema_ends_in_a_problem_or_not_but_never_otherwise() -> None:
    schema: dict[str, Any] = {}
    for _ in range(48):
        schema = {"properties": {"a": schema}}
    assert places(document(step("a"), input_schema=schema)) <= {"input_schema"}


def test_a_schema_of_more_parts_than_can_be_checked_in_time_is_refused() -> None:
    schema = {"properties": {f"p{i}": {} for i in range(10_000)}}
    assert told(document(step("a"), input_schema=schema)) == {
        "input_schema": "the schema holds more than 10000 schemas"
    }


# Warnings.


def warned(made: dict[str, Any], functions: list[str] | None = None) -> list[Problem]:
    definition: Definition = parse(made)
    return warnings(definition, functions=functions)


def test_functions_that_are_not_registered_are_warned_of() -> None:
    made = document(step("a", function="chrage"), step("b", function="ship"), on_finish={"function": "zzz"})
    assert warned(made, ["charge", "ship"]) == [
        Problem("steps[0].function", "no worker knows the function 'chrage' yet", "did you mean 'charge'?"),
        Problem("on_finish.function", "no worker knows the function 'zzz' yet"),
    ]
    assert warned(made) == []


def test_steps_that_can_never_start_are_warned_of() -> None:
    made = document(
        {"name": "a", "pass": True},
        step("b", depends_on=[on("a", "failure")]),
        step("c", "b"),
        step("d", depends_on=[on("b", "skipped")]),
        step("e", "a", trigger_rule="all_failed"),
        step("f", depends_on=[on("a", "success", when="false")]),
    )
    assert [problem.path for problem in warned(made)] == ["steps[1]", "steps[4]", "steps[5]", "steps[2]"]


def test_steps_that_may_start_are_not_warned_of() -> None:
    made = document(
        step("a"),
        step("b", depends_on=[on("a", "failure")]),
        step("c", depends_on=[on("a", "skipped")]),
        step("d", "a", "b", trigger_rule="one_failed"),
        {"name": "e", "pass": True, "when": "input.x"},
        step("f", depends_on=[on("e", "skipped")]),
        step("g", depends_on=[on("e", "failure")]),
    )
    assert warned(made) == []
