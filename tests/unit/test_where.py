"""Conditions on values of inputs, as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.where import read_all, read_where
from orchestrator.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("input.id=42", [{"id": 42}, {"id": "42"}]),
        ('input.id="42"', [{"id": "42"}]),
        ("input.customer.name=ada lovelace", [{"customer": {"name": "ada lovelace"}}]),
        ("input.items[].sku=a=b", [{"items": [{"sku": "a=b"}]}]),
        ("input[]=x", [["x"]]),
        ('input."a.b \\" =".c=true', [{'a.b " =': {"c": True}}, {'a.b " =': {"c": "true"}}]),
        ("input.a=", [{"a": ""}]),
        ("input.a=null", [{"a": None}, {"a": "null"}]),
        ("input.a=1e999", [{"a": "1e999"}]),
        ("input.a=NaN", [{"a": "NaN"}]),
        ("input.a={}", [{"a": "{}"}]),
        ("input.ключ=ü", [{"ключ": "ü"}]),
    ],
)
def test_a_value_is_a_number_or_a_text_and_keys_may_be_quoted(text: str, documents: list[Any]) -> None:
    assert read_where(text).documents() == documents


@pytest.mark.parametrize(
    "text",
    ["", "input", "input=1", "input.=1", "input.a", "id=1", "output.a=1", "input.a.=1", "input.a b=1", 'input."a=1',
     "input.a[]b=1", "input[][][]=1", "input" + ".a" * 21 + "=1", "input.a=" + "x" * 1000, 'input.a="\\u0000"',
     "input.a=\udc80", 'input."\0"=1'],
)  # fmt: skip
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_where(text)
    assert refused.value.problems[0].path == "where"


def test_conditions_are_the_same_when_they_are_written_the_same() -> None:
    assert read_all(["input.a=1", "input.a=1"]) == (read_where("input.a=1"),)
    assert len({read_where("input.a=1"), read_where("input.a=true"), read_where("input.a=1")}) == 2


@pytest.mark.parametrize(
    ("text", "secret"),
    [("input.card=1", True), ("input.card.number=1", True), ("input.deep.pin=1", True), ("input.deep.name=1", False),
     ("input.list[].token=1", True), ("input.list[].name=1", False), ("input.turns[]=1", True),
     ("input.free=1", False)],
)  # fmt: skip
def test_where_a_schema_may_have_a_secret_is_known(text: str, secret: bool) -> None:
    hidden = {"type": "string", "writeOnly": True}
    schema = {
        "properties": {
            "card": hidden,
            "deep": {"anyOf": [{"properties": {"pin": hidden, "name": {}}}, {}]},
            "list": {"items": {"$ref": "#/$defs/one"}},
            "turns": {"prefixItems": [{}, {}, hidden]},
        },
        "$defs": {"one": {"properties": {"token": hidden, "name": {}}}},
    }
    assert read_where(text).may_be_secret(schema) is secret
