"""The fields of an approval as a form: one input a field, by what its schema says of its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from web.pages.forms import json_field

_PREFIX = "field."


@dataclass(frozen=True, slots=True)
class Field:
    """`kind` is `text`, `number`, `yes`, `choice` (of `choices`) or `json`."""

    name: str
    label: str
    kind: str
    hint: str
    value: Any
    choices: tuple[Any, ...] = ()


def fields_of(schemas: Mapping[str, Any]) -> list[Field]:
    """The form for these JSON Schemas by name."""
    return [_field(name, schema if isinstance(schema, Mapping) else {}) for name, schema in schemas.items()]


def _field(name: str, schema: Mapping[str, Any]) -> Field:
    kind = {"string": "text", "integer": "number", "number": "number", "boolean": "yes"}.get(str(schema.get("type")))
    choices = tuple(schema["enum"]) if isinstance(schema.get("enum"), list) else ()
    if choices and all(isinstance(choice, str) for choice in choices):
        kind = "choice"
    label = str(schema.get("title") or name)
    return Field(name, label, kind or "json", str(schema.get("description") or ""), schema.get("default"), choices)


def read_fields(schemas: Mapping[str, Any], given: Mapping[str, str], errors: dict[str, str]) -> dict[str, Any]:
    """What was filled in; an empty field is left out. Faults go into `errors` under the field's name in the form."""
    values: dict[str, Any] = {}
    for one in fields_of(schemas):
        key = _PREFIX + one.name
        if one.kind == "yes":
            values[one.name] = given.get(key) == "yes"
        elif given.get(key, "") != "":
            values[one.name] = given[key] if one.kind in ("text", "choice") else json_field(given, key, errors)
    return values
