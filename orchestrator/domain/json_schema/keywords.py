"""Keywords whose cost `jsonschema` leaves open, or whose errors it does not place: references within the schema,
patterns with a time limit, uniqueness and `unevaluated*` in linear time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from jsonschema import ValidationError

from orchestrator.domain.json_schema.budget import spend
from orchestrator.domain.json_schema.patterns import search
from orchestrator.domain.json_schema.references import REFERENCES

Found = Iterator[ValidationError]
resolver: ContextVar[Callable[[str], Any]] = ContextVar("orchestrator_schema_resolver")


def reference(validator: Any, value: str, instance: Any, schema: Any) -> Found:
    """`$ref`; and `$dynamicRef`, which is the same as long as there is but one schema resource."""
    spend()
    yield from validator.descend(instance, resolver.get()(value))


def pattern(validator: Any, value: str, instance: Any, schema: Any) -> Found:
    if isinstance(instance, str) and not search(value, instance):
        yield ValidationError("pattern")


def pattern_properties(validator: Any, value: Mapping[str, Any], instance: Any, schema: Any) -> Found:
    for expression, part in value.items() if isinstance(instance, dict) else ():
        for key in instance:
            if search(expression, key):
                yield from validator.descend(instance[key], part, path=key, schema_path=expression)


def additional_properties(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Found:
    if isinstance(instance, dict):
        yield from _each(validator, value, instance, instance.keys() - _named_keys(instance, schema))


def unevaluated_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Found:
    if isinstance(instance, dict):
        yield from _each(validator, value, instance, instance.keys() - _evaluated(validator, instance, schema))


def _each(validator: Any, part: Any, instance: Mapping[str, Any], keys: set[str]) -> Found:
    """One error for each key that is not to be there, with its place."""
    for key in [key for key in instance if key in keys]:
        if part is False:
            yield ValidationError("unexpected", path=[key])
        else:
            yield from validator.descend(instance[key], part, path=key)


def unevaluated_items(validator: Any, value: Any, instance: Any, schema: Any) -> Found:
    if isinstance(instance, list):
        seen = _evaluated(validator, instance, schema)
        for index in [index for index in range(len(instance)) if index not in seen]:
            if value is False:
                yield ValidationError("unexpected", path=[index])
            else:
                yield from validator.descend(instance[index], value, path=index)


def required(validator: Any, value: list[str], instance: Any, schema: Any) -> Found:
    if isinstance(instance, dict):
        yield from (ValidationError("required", path=[key]) for key in value if key not in instance)


def unique_items(validator: Any, value: bool, instance: Any, schema: Any) -> Found:
    if value and isinstance(instance, list):
        spend(len(instance))
        if len({_frozen(item) for item in instance}) < len(instance):
            yield ValidationError("not unique")


def _frozen(value: Any) -> Any:
    """A hashable stand-in that is equal for equal JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return "map", frozenset((key, _frozen(part)) for key, part in value.items())
    if isinstance(value, list):
        return "list", tuple(map(_frozen, value))
    return (isinstance(value, bool), value)


def _named_keys(instance: Mapping[str, Any], schema: Mapping[str, Any]) -> set[str]:
    """The keys that `properties` and `patternProperties` of the schema speak about."""
    named = {key for key in schema.get("properties", ()) if key in instance}
    for expression in schema.get("patternProperties", ()):
        named |= {key for key in instance if search(expression, key)}
    return named


def _evaluated(validator: Any, instance: Any, schema: Any) -> set[Any]:
    """The keys (or indexes) of `instance` that the schema, or one that applies to the same value, speaks about."""
    spend()
    if not isinstance(schema, dict):
        return set()
    own = _own_keys(instance, schema) if isinstance(instance, dict) else _own_indexes(validator, instance, schema)
    for part in _applied(validator, instance, schema):
        own |= _evaluated(validator, instance, part)
    return own


def _own_keys(instance: Mapping[str, Any], schema: Mapping[str, Any]) -> set[Any]:
    if "additionalProperties" in schema:
        return set(instance)
    return _named_keys(instance, schema)


def _own_indexes(validator: Any, instance: list[Any], schema: Mapping[str, Any]) -> set[Any]:
    if "items" in schema:
        return set(range(len(instance)))
    own = set(range(min(len(schema.get("prefixItems", ())), len(instance))))
    if "contains" in schema:
        own |= {i for i, item in enumerate(instance) if _fits(validator, item, schema["contains"])}
    return own


def _applied(validator: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas that hold for the same value, where they do."""
    for key in REFERENCES:
        if key in schema:
            yield resolver.get()(schema[key])
    for key in ("allOf", "anyOf", "oneOf"):
        yield from (part for part in schema.get(key, ()) if _fits(validator, instance, part))
    if isinstance(instance, dict):
        yield from (part for key, part in schema.get("dependentSchemas", {}).items() if key in instance)
    if "if" in schema:
        holds = _fits(validator, instance, schema["if"])
        if holds:
            yield schema["if"]
        yield schema.get("then" if holds else "else")


def _fits(validator: Any, instance: Any, schema: Any) -> bool:
    return next(iter(validator.descend(instance, schema)), None) is None


KEYWORDS: dict[str, Any] = {
    "$ref": reference,
    "$dynamicRef": reference,
    "additionalProperties": additional_properties,
    "pattern": pattern,
    "patternProperties": pattern_properties,
    "required": required,
    "unevaluatedItems": unevaluated_items,
    "unevaluatedProperties": unevaluated_properties,
    "uniqueItems": unique_items,
}
