"""Our check of schemas says the same as the official metaschema."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from orchestrator.domain.definition_schema import definition_schema
from orchestrator.domain.json_schema.malformed import _CHECKS, malformed
from orchestrator.domain.json_schema.references import LISTED, NAMED, ONE

METASCHEMA = Draft202012Validator(Draft202012Validator.META_SCHEMA)
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 1.5, 2.0, "", "a", "a b", "#", "x#", "x#y", "string", "strin", [], {}),
    *(["a"], ["a", "a"], ["string", "null"], ["string", "string"], [1], [{}], [True], {"a": 1}, {"a": {}}),
    *({"a": ["b"]}, {"a": ["b", "b"]}, {"a": "b"}, {"a": True}, {"type": "string"}, {"type": 1}, [{"type": []}]),
]
KEYWORDS = sorted({*_CHECKS, *ONE, *LISTED, *NAMED, "const", "default", "unknown"})
BASES: list[Any] = [
    {},
    {"properties": {"a": {"type": "string"}}, "allOf": [{"items": {"enum": [1]}}], "$defs": {"x": {"not": {}}}},
    definition_schema(),
]


def places(value: Any) -> list[Any]:
    inside = value.values() if isinstance(value, dict) else value
    return [value] + [found for part in inside if isinstance(part, dict | list) for found in places(part)]


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_every_keyword_takes_the_values_it_takes_there(keyword: str) -> None:
    for value in VALUES:
        schema = {keyword: value}
        assert (list(malformed(schema)) == []) == METASCHEMA.is_valid(schema), schema


@pytest.mark.parametrize("seed", range(10))
def test_changed_schemas_are_judged_alike(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(20):
        schema = copy.deepcopy(chance.choice(BASES))
        for _ in range(chance.randint(1, 3)):
            place = chance.choice(places(schema))
            value = copy.deepcopy(chance.choice(VALUES))
            if isinstance(place, dict):
                place[chance.choice([*KEYWORDS, *place])] = value
            elif place:
                place[chance.randrange(len(place))] = value
        assert (list(malformed(schema)) == []) == METASCHEMA.is_valid(schema), schema
