"""References within one schema (`#`, `#/$defs/address`, `#anchor`), and the schemas inside a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from orchestrator.domain.paths import follow

ONE = (
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
REFERENCES = ("$ref", "$dynamicRef")
ANCHORS = ("$anchor", "$dynamicAnchor")

Keys = tuple[str | int, ...]


def inside(schema: Mapping[str, Any]) -> Iterator[tuple[Keys, Any]]:
    """The schemas directly inside a schema, each with the keys that lead to it."""
    for key in ONE:
        if key in schema:
            yield (key,), schema[key]
    for key in LISTED:
        if isinstance(schema.get(key), list):
            yield from (((key, index), part) for index, part in enumerate(schema[key]))
    for key in NAMED:
        if isinstance(schema.get(key), dict):
            yield from (((key, name), part) for name, part in schema[key].items())


def everything(root: Any) -> Iterator[tuple[Keys, Any]]:
    """The schema and all schemas inside it, at any depth."""
    todo: list[tuple[Keys, Any]] = [((), root)]
    while todo:
        keys, schema = todo.pop()
        yield keys, schema
        if isinstance(schema, dict):
            todo.extend(((*keys, *more), part) for more, part in inside(schema))


def anchors(root: Any) -> dict[str, Any]:
    """The schemas that have a name of their own."""
    found: dict[str, Any] = {}
    for _, schema in everything(root):
        if isinstance(schema, dict):
            found.update((schema[key], schema) for key in ANCHORS if isinstance(schema.get(key), str))
    return found


def resolve(root: Any, named: Mapping[str, Any], reference: str) -> Any:
    """What a reference points to; raises `LookupError` when there is nothing, or it is not within the schema."""
    if not reference.startswith("#"):
        raise LookupError(reference)
    fragment = unquote(reference[1:])
    if not fragment:
        return root
    if not fragment.startswith("/"):
        return named[fragment]
    parts = [part.replace("~1", "/").replace("~0", "~") for part in fragment[1:].split("/")]
    found = root
    for part in parts:
        found = follow(found, [_index(found, part)])
        if found is None:
            raise LookupError(reference)
    return found


def _index(container: Any, part: str) -> str | int:
    return int(part) if isinstance(container, list) and part.isdecimal() and len(part) < 7 else part
