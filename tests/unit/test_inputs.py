"""Inputs and outputs against JSON Schemas: defaults, problems by path, bounded cost."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.inputs import check_input, check_output
from orchestrator.domain.json_schema import budget, compiled, patterns
from orchestrator.domain.sandbox.meter import Limits
from orchestrator.errors import InvalidInput


def refused(schema: dict[str, Any], value: Any) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        check_input(schema, value)
    return {problem.path: problem.message for problem in caught.value.problems}


def props(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


# Defaults.


def test_missing_properties_get_their_defaults_at_any_depth() -> None:
    schema = props(
        a={"default": 1},
        inner=props(b={"default": {"c": 2}}),
        rows={"type": "array", "items": props(d={"default": [3]})},
        made={"default": {}, **props(e={"default": 4})},
        absent=props(f={"default": 5}),
    )
    given = {"inner": {}, "rows": [{}, {"d": 0}]}
    assert check_input(schema, given) == {
        "inner": {"b": {"c": 2}},
        "rows": [{"d": [3]}, {"d": 0}],
        "a": 1,
        "made": {"e": 4},
    }
    assert given == {"inner": {}, "rows": [{}, {"d": 0}]}


def test_a_default_is_copied_for_each_value() -> None:
    schema = props(a={"default": []})
    first = check_input(schema, {})
    first["a"].append(1)
    assert check_input(schema, {}) == {"a": []}


def test_a_null_is_a_value_and_gets_no_default() -> None:
    assert check_input(props(a={"default": 1}), {"a": None}) == {"a": None}


def test_defaults_are_found_behind_references_and_all_of() -> None:
    schema = {
        "allOf": [props(a={"$ref": "#/$defs/n"}), {"$ref": "#/$defs/more"}],
        "$defs": {"n": {"default": 7}, "more": props(b={"$ref": "#n"}), "x": {"$anchor": "n", "default": 8}},
    }
    assert check_input(schema, {}) == {"a": 7, "b": 8}


def test_a_default_satisfies_required() -> None:
    assert check_input({**props(a={"default": 1}), "required": ["a"]}, {}) == {"a": 1}


def test_branches_give_no_defaults() -> None:
    assert check_input({"anyOf": [props(a={"default": 1})]}, {}) == {}


def test_recursive_schemas_are_followed_into_the_value() -> None:
    schema = {"$ref": "#/$defs/t", "$defs": {"t": props(v={"default": 0}, next={"$ref": "#/$defs/t"})}}
    assert check_input(schema, {"next": {"next": {}}}) == {"v": 0, "next": {"v": 0, "next": {"v": 0}}}


# Problems.


def test_all_problems_are_told_by_their_path() -> None:
    schema = {
        **props(amount={"type": "number", "minimum": 1}, rows={"items": props(id={"type": "string"})}),
        "required": ["amount", "email"],
        "additionalProperties": False,
    }
    assert refused(schema, {"amount": 0, "rows": [{"id": "x"}, {"id": 5}], "amuont": 1, "a.b": 1}) == {
        "input.amount": "must be at least 1",
        "input.rows[1].id": "must be text, not a number",
        "input.email": "is required",
        "input.amuont": "is not known here",
        "input['a.b']": "is not known here",
    }


def test_an_unknown_property_is_told_with_the_nearest_one() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'amount'"):
        check_input({**props(amount={}), "additionalProperties": False}, {"amuont": 1})


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": ["integer", "null"]}, "x", "must be a whole number or null, not text"),
        ({"type": "integer"}, True, "must be a whole number, not a boolean"),
        ({"type": "integer"}, 1.5, "must be a whole number, not a number"),
        ({"enum": ["a", 1]}, "b", 'must be one of "a", 1'),
        ({"enum": list(range(20))}, 99, "must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 10 more"),
        ({"const": 1}, 2, "must be 1"),
        ({"exclusiveMinimum": 0}, 0, "must be more than 0"),
        ({"exclusiveMaximum": 5}, 5, "must be less than 5"),
        ({"maximum": 5}, 6, "must be at most 5"),
        ({"multipleOf": 0.5}, 0.7, "must be a multiple of 0.5"),
        ({"minLength": 1}, "", "must have at least 1 character"),
        ({"maxLength": 2}, "abc", "must have at most 2 characters"),
        ({"pattern": "^a$"}, "b", "must match the pattern '^a$'"),
        ({"pattern": "^a$"}, "a\n", "must match the pattern '^a$'"),
        ({"minItems": 2}, [1], "must have at least 2 elements"),
        ({"maxItems": 0}, [1], "must have at most 0 elements"),
        ({"uniqueItems": True}, [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}], "must not hold an element twice"),
        ({"minProperties": 1}, {}, "must have at least 1 key"),
        ({"maxProperties": 0}, {"a": 1}, "must have at most 0 keys"),
        ({"contains": {"type": "string"}}, [1], "does not hold the elements it must"),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "the key 'ab' must have at most 1 character"),
        ({"not": {"type": "string"}}, "x", "is of a form that is ruled out"),
        ({"anyOf": [{"type": "string"}, {"minimum": 5}]}, 1, "fits none of the 2 forms it may have: must be text"),
        ({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 1, "fits more than one of the forms"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, 1, "fits none of the 2 forms"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "'b' is a dependency of 'a'"),
        ({"items": False}, [1], "has more elements than it may"),
        ({"properties": {"a": False}}, {"a": 1}, "is not allowed"),
    ],
)
def test_what_a_schema_refuses_is_said_in_words(schema: dict[str, Any], value: Any, message: str) -> None:
    (told,) = refused(schema, value).values()
    assert told.startswith(message)


def test_true_is_not_1_and_1_is_1_point_0_among_unique_elements() -> None:
    assert check_input({"uniqueItems": True}, [1, True, 0, False, "1", [1], [True]])
    assert refused({"uniqueItems": True}, [1, 1.0])


def test_a_value_is_never_shown() -> None:
    secret = "correct horse battery staple"  # noqa: S105
    schema = props(a={"enum": ["x"]}, b={"const": 1}, c={"pattern": "^x"}, d={"type": "integer"}, e={"format": "uuid"})
    told = refused(schema, dict.fromkeys("abcde", secret))
    assert len(told) == 5
    assert secret not in str(told)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "date-time",
            ["2024-02-29T23:59:60Z", "2024-01-01t10:00:00.123456789+02:00"],
            ["2024-01-01", "2023-02-29T00:00:00Z"],
        ),
        ("date", ["2024-02-29"], ["2023-02-29", "20240101"]),
        ("uuid", ["0190aaaa-0000-7000-8000-00000000000A"], ["0190aaaa000070008000000000000000", "x"]),
        ("email", ["a@b", "ü@example.org"], ["a", "a b@c", "@b"]),
        ("ipv4", ["anything"], []),
    ],
)
def test_a_few_formats_are_checked(name: str, good: list[str], bad: list[str]) -> None:
    for text in good:
        assert check_input({"format": name}, text) == text
    for text in bad:
        assert refused({"format": name}, text) == {"input": f"must be a valid {name}"}
    assert check_input({"format": name}, 5) == 5


def test_an_output_is_checked_and_left_as_it_is() -> None:
    schema = {**props(total={"type": "number"}, note={"default": "x"}), "required": ["total"]}
    assert check_output(schema, {"total": 1}) == []
    (problem,) = check_output(schema, {"total": "1"})
    assert (problem.path, problem.message) == ("output.total", "must be a number, not text")


def test_unevaluated_properties_see_all_that_applies() -> None:
    schema = {
        "$ref": "#/$defs/base",
        "allOf": [{"patternProperties": {"^x-": {}}}],
        "if": {"required": ["kind"], "properties": {"kind": {"const": "big"}}},
        "then": props(size={}),
        "anyOf": [props(left={"type": "string"}), props(right={"type": "string"})],
        "unevaluatedProperties": False,
        "$defs": {"base": props(kind={})},
    }
    assert check_input(schema, {"kind": "big", "size": 1, "x-y": 2, "left": "l", "right": "r"})
    assert refused(schema, {"kind": "small", "size": 1}) == {"input.size": "is not known here"}
    assert refused(schema, {"left": 1, "right": "r"}) == {"input.left": "is not known here"}


def test_unevaluated_items_see_all_that_applies() -> None:
    schema = {"prefixItems": [{"type": "string"}], "contains": {"type": "null"}, "unevaluatedItems": False}
    assert check_input(schema, ["a", None, None])
    assert refused(schema, ["a", None, 1]) == {"input[2]": "is not known here"}


def test_the_dialect_of_a_schema_does_not_choose_another_validator() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"again": {"$ref": "#"}},
        "additionalProperties": False,
    }
    assert refused(schema, {"again": {"again": {"x": 1}}}) == {"input.again.again.x": "is not known here"}


def test_equal_schemas_are_prepared_once() -> None:
    assert compiled.compiled({"type": "string", "title": "once"}) is compiled.compiled(
        {"type": "string", "title": "once"}
    )


# Cost.


def test_a_pattern_that_backtracks_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_SECONDS", 0.05)
    evil, text = r"^(a|a)*$", "a" * 50 + "!"
    told = refused(props(a={"pattern": evil}), {"a": text})
    assert "takes too long on a text of 51 characters" in told["input"]
    assert "takes too long" in refused({"patternProperties": {evil: {}}}, {text: 1})["input"]
    assert (
        "takes too long"
        in refused({"additionalProperties": False, "patternProperties": {evil: {}}}, {text: 1})["input"]
    )


def test_references_that_double_with_every_level_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "LIMITS", Limits(work=1 << 16, seconds=60))
    schema = {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}
    value: Any = {}
    for _ in range(60):
        value = {"a": value}
    (told,) = refused(schema, value).values()
    assert "too much work" in told


def test_a_value_nested_deeper_than_the_schema_can_follow_is_refused() -> None:
    value: Any = {}
    for _ in range(5_000):
        value = {"a": value}
    (told,) = refused({"properties": {"a": {"$ref": "#"}}}, value).values()
    assert "nested" in told


def test_a_long_list_is_checked_for_unique_elements_in_one_pass() -> None:
    rows = [{"id": i} for i in range(50_000)]
    assert check_input({"uniqueItems": True}, rows) == rows
    assert refused({"uniqueItems": True}, [*rows, {"id": 0}])


def test_no_more_than_a_hundred_problems_are_told() -> None:
    with pytest.raises(InvalidInput) as caught:
        check_input({"items": {"type": "string"}}, list(range(1000)))
    assert len(caught.value.problems) == 100


def test_nothing_is_fetched() -> None:
    """`parse` refuses such schemas; one that came around it finds nothing and fetches nothing."""
    with pytest.raises(LookupError):
        check_input({"$ref": "http://127.0.0.1:9/schema.json"}, {})
