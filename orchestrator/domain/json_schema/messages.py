"""What is said about a value that a schema refuses. Never the value itself: it may be a secret."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.domain.near import near_hint
from orchestrator.domain.paths import join, quoted
from orchestrator.domain.sandbox.words import kind
from orchestrator.errors import Problem

# A `jsonschema.ValidationError`, whose attributes its stubs leave open.
Refusal = Any

TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "a map",
    "string": "text",
}
_LISTED = 10
_BRANCHES = 3


def problem_of(error: Refusal, path: str) -> Problem:
    """The problem that `error` says about the value at `path`."""
    return Problem(join(error.absolute_path, path), _message(error), _hint(error))


def _message(error: Refusal) -> str:
    say = _SAID.get(str(error.validator))
    text = say(error) if say else "is not allowed" if error.validator is None else f"does not meet '{error.validator}'"
    if "propertyNames" in error.absolute_schema_path and isinstance(error.instance, str):
        return f"the key {quoted(error.instance)} {text}"
    return text


def _hint(error: Refusal) -> str | None:
    if error.message != "unexpected" or not isinstance(error.schema, Mapping):
        return None
    key = str(error.relative_path[-1]) if error.relative_path else ""
    return near_hint(key, error.schema.get("properties", ()))


def _type(error: Refusal) -> str:
    wanted: list[str] = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    return f"must be {' or '.join(TYPES.get(name, name) for name in wanted)}, not {kind(error.instance)}"


def _enum(error: Refusal) -> str:
    values = error.validator_value
    shown = ", ".join(map(_json, values[:_LISTED]))
    return f"must be one of {shown}" + (f" and {len(values) - _LISTED} more" if len(values) > _LISTED else "")


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _any_of(error: Refusal) -> str:
    count = len(error.validator_value)
    return f"fits none of the {count} forms it may have: {_branches(error)}"


def _one_of(error: Refusal) -> str:
    if not error.context:
        return "fits more than one of the forms of which it may have one"
    return _any_of(error)


def _branches(error: Refusal) -> str:
    """Why the first forms do not fit, by the first thing wrong with each."""
    first: dict[Any, Refusal] = {}
    for inner in error.context or ():
        first.setdefault(inner.relative_schema_path[0], inner)
    shown = [str(Problem(join(inner.relative_path), _message(inner))) for inner in list(first.values())[:_BRANCHES]]
    return "; or ".join(shown) + ("; ..." if len(first) > _BRANCHES else "")


def _counted(word: str, one: str, many: str) -> Callable[[Refusal], str]:
    def say(error: Refusal) -> str:
        count = error.validator_value
        return f"must have {word} {count:g} {one if count == 1 else many}"

    return say


def _bound(words: str) -> Callable[[Refusal], str]:
    return lambda error: f"must be {words} {_json(error.validator_value)}"


_SAID: dict[str, Callable[[Refusal], str]] = {
    "additionalProperties": lambda error: "is not known here",
    "anyOf": _any_of,
    "const": lambda error: f"must be {_json(error.validator_value)}",
    "contains": lambda error: "does not hold the elements it must",
    "dependentRequired": lambda error: error.message,
    "enum": _enum,
    "exclusiveMaximum": _bound("less than"),
    "exclusiveMinimum": _bound("more than"),
    "format": lambda error: f"must be a valid {error.validator_value}",
    "items": lambda error: "has more elements than it may",
    "maxItems": _counted("at most", "element", "elements"),
    "maxLength": _counted("at most", "character", "characters"),
    "maxProperties": _counted("at most", "key", "keys"),
    "maximum": _bound("at most"),
    "minItems": _counted("at least", "element", "elements"),
    "minLength": _counted("at least", "character", "characters"),
    "minProperties": _counted("at least", "key", "keys"),
    "minimum": _bound("at least"),
    "multipleOf": _bound("a multiple of"),
    "not": lambda error: "is of a form that is ruled out",
    "oneOf": _one_of,
    "pattern": lambda error: f"must match the pattern {quoted(str(error.validator_value))}",
    "required": lambda error: "is required",
    "type": _type,
    "unevaluatedItems": lambda error: "is not known here",
    "unevaluatedProperties": lambda error: "is not known here",
    "uniqueItems": lambda error: "must not hold an element twice",
}
