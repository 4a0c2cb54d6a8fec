"""The JSON Schema of the format takes and refuses what the parser's shape check does."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from orchestrator.domain.checks.schemas import schema_problems
from orchestrator.domain.definition_schema import definition_schema
from orchestrator.domain.format.schemas import DocumentSchema, EdgeSchema, RetrySchema, StepSchema
from orchestrator.domain.json_schema.compiled import compiled
from orchestrator.domain.parse import parse
from orchestrator.domain.shape import check_shape
from orchestrator.errors import InvalidDefinition
from tests.documents import document, on, step

BASES: list[dict[str, Any]] = [
    document(step("a", input={"x": 1})),
    document({"name": "a"}, {"name": "b", "pass": None, "depends_on": "a"}, defaults={"function": "f", "queue": "q"}),
    document(
        step("a", retry={"max_attempts": 3, "while": "true", "retry_on": "E"}, publish={"v": 1}, timeout="{{ 1 }}"),
        step("b", depends_on=["a", on("a", "failure")], join=1, when=True, priority=3),
        step("c", "b", trigger_rule="always", on_error="ignore", on_lost="fail", label="C", total_timeout=5),
        tags=["x"],
        vars={"v": None},
        failure_mode="drain",
        on_finish={"pass": True},
        input_schema={"type": "object"},
    ),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 1.5, 2.0, 1e12, [], {}, "", "a", "all", " a", "a ", "x\u200dy", "a\tb", "é\n"),
    *("on_finish", "celery:x", "celery:", "celery: x", "{{ x }}", "success", "x" * 51, "x" * 256, "\u202e", "日本"),
    *(["a"], ["a", 1], [None], [["a"]], {"a": 1}, {"": 1}, {"step": "a"}, {"step": "a", "on": None, "when": False}),
    *([{"step": "a"}], [{"step": 1}], {"max_attempts": 0}, {"max_attempts": 2.0, "delay": 0}, {"function": "f"}),
    *({"pass": None}, {"pass": False}, {"function": None}, {"workflow": "x"}, {"function": "f", "pass": True}),
]
KEYS = [key for schema in (DocumentSchema, StepSchema, RetrySchema, EdgeSchema) for key in schema.known()]


def containers(value: Any) -> list[Any]:
    inside = value.values() if isinstance(value, dict) else value
    return [value] + [found for part in inside if isinstance(part, dict | list) for found in containers(part)]


def changed(chance: random.Random) -> dict[str, Any]:
    """A document with a few parts put in, replaced or taken out."""
    made = copy.deepcopy(chance.choice(BASES))
    for _ in range(chance.choice([1, 1, 2, 3])):
        container = chance.choice(containers(made))
        value = copy.deepcopy(chance.choice(VALUES))
        if isinstance(container, dict):
            key = chance.choice([*KEYS, "unknown", *list(container) * 5])
            container[key] = value
            if chance.random() < 0.3:
                del container[key]
        elif container:
            container[chance.randrange(len(container))] = value
    return made


@pytest.mark.parametrize("seed", range(20))
def test_schema_and_parser_agree_on_hundreds_of_documents(seed: int) -> None:
    chance = random.Random(seed)
    ready = compiled(definition_schema())
    verdicts = set()
    for _ in range(100):
        made = changed(chance)
        accepted = not check_shape(made).problems
        refusals = ready.problems(made, "")
        assert accepted == (not refusals), (json.dumps(made), check_shape(made).problems, refusals)
        verdicts.add(accepted)
    assert verdicts == {True, False}


def test_what_the_parser_accepts_the_schema_does_too() -> None:
    ready = compiled(definition_schema())
    for made in BASES:
        try:
            parse(made)
        except InvalidDefinition as error:
            pytest.fail(str(error))
        assert ready.problems(made, "") == []


def test_it_is_a_schema_of_2020_12_for_any_tool() -> None:
    Draft202012Validator.check_schema(definition_schema())
    assert schema_problems(definition_schema(), "") == []
    assert Draft202012Validator(definition_schema()).is_valid(BASES[2])


def test_every_key_is_described_for_editors() -> None:
    made = definition_schema()
    for part in [made, *made["$defs"].values()]:
        assert all(len(each["description"]) > 5 for each in part["properties"].values())


def test_each_call_gives_a_copy() -> None:
    definition_schema()["$defs"]["step"]["properties"].clear()
    assert definition_schema()["$defs"]["step"]["properties"]
