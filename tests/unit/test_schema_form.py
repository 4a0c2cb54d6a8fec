"""Forms made from JSON Schemas."""

from __future__ import annotations

from typing import Any

import pytest
from werkzeug.datastructures import MultiDict

from orchestrator.domain.inputs import check_input
from orchestrator.errors import InvalidInput
from web.pages.schema_form import beside_fields, form_of, read_form

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["amount", "to"],
    "properties": {
        "amount": {"type": "integer", "minimum": 3, "title": "How much"},
        "fast": {"type": "boolean"},
        "size": {"enum": ["s", "l", 3]},
        "colours": {"type": "array", "items": {"enum": ["red", "blue"]}},
        "lines": {"type": "array", "items": {"type": "number"}},
        "to": {"type": "object", "required": ["city.name"], "properties": {"city.name": {"type": ["string", "null"]}}},
        "card": {"type": "string", "writeOnly": True},
        "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "rows": {"type": "array", "items": {"type": "object"}},
    },
}
FILLED = MultiDict(
    [
        ("v.0", "7"),
        ("v.1", "no"),
        ("v.2", "3"),
        ("v.3", '"blue"'),
        ("v.4", "1\r\n 2.5 \r\n\r\n"),
        ("v.5.0", "Köln"),
        ("v.6", "4111"),
        ("v.7", '{"a": 1}'),
        ("v.8", ""),
    ]
)


def test_each_type_has_a_field_of_its_own() -> None:
    fields = form_of(SCHEMA, "input")
    assert fields is not None
    kinds = {one.name: one.kind for one in fields}
    assert kinds == {
        "amount": "number",
        "fast": "yes",
        "size": "choice",
        "colours": "many",
        "lines": "list",
        "to": "group",
        "card": "secret",
        "either": "json",
        "rows": "json",
    }
    assert (fields[0].label, fields[0].hint, fields[0].required) == ("How much", "at least 3", True)
    assert fields[5].parts[0].path == "input.to['city.name']"


def test_what_is_filled_in_keeps_its_type_and_what_is_empty_is_left_out() -> None:
    fields, errors = form_of(SCHEMA, "input") or (), dict[str, str]()
    assert read_form(fields, FILLED, errors) == {
        "amount": 7,
        "fast": False,
        "size": 3,
        "colours": ["blue"],
        "lines": [1, 2.5],
        "to": {"city.name": "Köln"},
        "card": "4111",
        "either": {"a": 1},
    }
    assert errors == {}


def test_what_is_no_number_or_no_json_is_told_at_its_field() -> None:
    fields, errors = form_of(SCHEMA, "input") or (), dict[str, str]()
    read_form(fields, MultiDict([("v.0", "many"), ("v.4", "1\nx"), ("v.7", "{"), ("v.1", "maybe")]), errors)
    assert sorted(errors) == ["v.0", "v.4", "v.7"]
    assert errors["v.0"] == "This must be a number."


def test_each_problem_stands_beside_its_field() -> None:
    fields = form_of(SCHEMA, "input") or ()
    with pytest.raises(InvalidInput) as refused:
        check_input(SCHEMA, {"amount": 1, "lines": ["x"], "to": {}, "zz": 1})
    told = beside_fields(fields, refused.value.problems, "input")
    assert told["v.0"] == "Must be at least 3"
    assert told["v.4"] == "[0]: must be a number, not text"
    assert told["v.5.0"] == "Is required"
    assert "" not in told  # no additionalProperties: zz is fine


def test_a_problem_of_no_field_is_told_with_its_place() -> None:
    schema = {**SCHEMA, "additionalProperties": False, "required": []}
    with pytest.raises(InvalidInput) as refused:
        check_input(schema, {"zz": 1})
    told = beside_fields(form_of(schema, "input") or (), refused.value.problems, "input")
    assert told == {"": "zz: is not known here"}


def test_what_a_form_cannot_ask_for_is_asked_for_as_json() -> None:
    for schema in (True, {"type": "string"}, {"properties": {}, "oneOf": []}, {"properties": "odd"}, [], None):
        assert form_of(schema, "input") is None
    wide = {"properties": {str(place): {} for place in range(201)}}
    assert form_of(wide, "input") is None


def test_odd_schemas_make_fields_too() -> None:
    odd = {"properties": {"a": True, "b": {"type": 5, "enum": "no", "title": None}, "c": {"enum": [{}]}, "": {}}}
    fields = form_of({**odd, "required": "a"}, "input") or ()
    assert [(one.kind, one.required) for one in fields] == [("json", False)] * 4


def test_groups_within_groups_end_as_json() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(7):
        schema = {"type": "object", "properties": {"in": schema}}
    field, depth = (form_of(schema, "input") or ())[0], 1
    while field.parts:
        field, depth = field.parts[0], depth + 1
    assert (field.kind, depth) == ("json", 5)
