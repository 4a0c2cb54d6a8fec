"""`writeOnly: true` hides a value, however the schema says it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain import secret_fields
from orchestrator.domain.json_schema.budget import TooCostly
from orchestrator.domain.secret_fields import find_secrets, has_secrets, mask_fields

SECRET = {"type": "string", "writeOnly": True}


def in_property(schema: Any) -> Any:
    return {"properties": {"card": schema}}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"card": SECRET}},
        {"patternProperties": {"^ca": SECRET}},
        {"additionalProperties": SECRET},
        {"unevaluatedProperties": SECRET},
        {"properties": {"card": {"$ref": "#/$defs/a~1b"}}, "$defs": {"a/b": SECRET}},
        {"properties": {"card": {"$ref": "#hidden"}}, "$defs": {"x": SECRET | {"$anchor": "hidden"}}},
        {"$ref": "#/$defs/all", "$defs": {"all": {"properties": {"card": SECRET}}}},
        {"allOf": [{"title": "x"}, {"properties": {"card": SECRET}}]},
        {"anyOf": [{"properties": {"card": {"type": "integer"}}}, {"properties": {"card": SECRET}}]},
        {"oneOf": [{"properties": {"card": SECRET}}, True]},
        {"if": {"required": ["card"]}, "then": {"properties": {"card": SECRET}}},
        {"if": True, "else": {"properties": {"card": SECRET}}},
        {"dependentSchemas": {"amount": {"properties": {"card": SECRET}}}},
    ],
    ids=lambda schema: json.dumps(schema)[:60],
)
def test_a_secret_property_is_masked_and_its_neighbour_is_not(schema: dict[str, Any]) -> None:
    shown = mask_fields(
        schema,
        {"card": "4111"} | ({} if "additional" in str(schema) or "unevaluated" in str(schema) else {"amount": 5}),
    )
    assert shown["card"] == "***"
    assert shown.get("amount", 5) == 5


def test_secrets_are_found_inside_lists_and_maps_of_any_depth() -> None:
    item = {"properties": {"token": SECRET, "name": {"type": "string"}}}
    schema = {"properties": {"users": {"type": "array", "prefixItems": [{}], "items": item}}}
    value = {"users": [{"token": "first is free"}, {"token": "abcd", "name": "Ann"}]}
    assert mask_fields(schema, value) == {"users": [{"token": "first is free"}, {"token": "***", "name": "Ann"}]}


def test_patterns_are_those_of_json_schema() -> None:
    schema = {"patternProperties": {r"^\p{Lu}+$": SECRET}}
    assert mask_fields(schema, {"TOKEN": "abcd", "token": "shown"}) == {"TOKEN": "***", "token": "shown"}


def test_what_a_costly_pattern_may_be_meant_for_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def costly(pattern: str, text: str) -> bool:
        raise TooCostly("it takes too long")

    monkeypatch.setattr(secret_fields, "search", costly)
    assert mask_fields({"patternProperties": {"^(a+)+$": SECRET}}, {"x": "abcd"}) == {"x": "***"}


def test_a_reference_to_nothing_hides_nothing() -> None:
    schema = {"properties": {"card": {"$ref": "#gone"}, "pin": SECRET}}
    assert mask_fields(schema, {"card": "4111", "pin": "12"}) == {"card": "4111", "pin": "***"}


def test_a_secret_map_is_masked_whole() -> None:
    assert mask_fields(in_property({"type": "object", "writeOnly": True}), {"card": {"number": 1}}) == {"card": "***"}


def test_a_whole_input_may_be_secret() -> None:
    assert mask_fields({"writeOnly": True}, {"a": 1}) == "***"


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"$ref": "#", "allOf": [{"$ref": "#"}], "properties": {"child": {"$ref": "#"}, "pin": SECRET}}
    assert mask_fields(schema, {"child": {"child": {"pin": "1"}}}) == {"child": {"child": {"pin": "***"}}}


def test_references_that_lead_nowhere_hide_nothing_and_break_nothing() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/gone/0"}, "b": {"$ref": "https://example.org/x"}, "c": SECRET}}
    assert mask_fields(schema, {"a": 1, "b": 2, "c": 3}) == {"a": 1, "b": 2, "c": "***"}


@pytest.mark.parametrize("schema", [None, True, {}, {"writeOnly": False}, {"properties": {"writeOnly": {}}}])
def test_a_schema_without_secrets_changes_nothing(schema: Any) -> None:
    value = {"card": ["4111", {"writeOnly": 1}]}
    assert not has_secrets(schema)
    assert mask_fields(schema, value) is value
    assert not find_secrets(schema, value)


def test_echoes_of_a_secret_are_masked_in_every_string_and_key() -> None:
    masker = find_secrets(in_property(SECRET), {"card": "4111-1111", "amount": 5})
    echoed = {"text": "paid with 4111-1111!", "4111-1111": [1, "4111-1111"], "n": 4111}
    assert masker.value(echoed) == {"text": "paid with ***!", "***": [1, "***"], "n": 4111}


def test_every_text_inside_a_secret_map_is_looked_for() -> None:
    masker = find_secrets(in_property({"writeOnly": True}), {"card": {"number": "41111", "codes": ["secret"]}})
    assert masker.value("41111 and secret") == "*** and ***"


def test_a_secret_number_is_looked_for_too() -> None:
    masker = find_secrets(in_property(SECRET | {"type": "integer"}), {"card": 41111111, "open": True})
    echoed = [41111111, "card 41111111", 4111111, True]
    assert masker.value(echoed) == ["***", "card ***", 4111111, True]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=3), parts, max_size=3),
    max_leaves=10,
)


@given(JSON, JSON)
def test_any_value_under_any_schema_shape_is_masked_without_an_error(schema: Any, value: Any) -> None:
    assert (
        mask_fields({"allOf": [{"properties": {"x": schema, "pin": SECRET}}]}, {"x": value, "pin": "1"})["pin"] == "***"
    )
