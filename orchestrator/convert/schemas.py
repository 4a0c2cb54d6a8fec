"""Parameters of actions as JSON Schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.convert.report import Place, Report

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
# Keywords of JSON Schema that are carried as they are.
_KEPT = [
    "type",
    "title",
    "description",
    "enum",
    "const",
    "default",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "items",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "format",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "examples",
]
_MEANINGLESS = ("position", "immutable", "label", "ui_order", "x-ui", "order")


def schema_of(parameters: Mapping[str, Any], place: Place, report: Report) -> dict[str, Any]:
    """Parameters, each with its own `required`, as one schema of an input."""
    properties = {
        name: one_schema(given, (*place, name), report)
        for name, given in parameters.items()
        if isinstance(given, Mapping)
    }
    for name in parameters.keys() - properties.keys():
        report.lost((*place, name), "is not a map that describes a parameter")
    required = [name for name in properties if parameters[name].get("required") is True]
    schema: dict[str, Any] = {"type": "object"}
    if required:
        schema["required"] = required
    return schema | ({"properties": properties} if properties else {})


def one_schema(given: Mapping[str, Any], place: Place, report: Report) -> dict[str, Any]:
    """The schema of one parameter."""
    schema: dict[str, Any] = {}
    for key, value in given.items():
        if key == "type" and value not in _TYPES and not isinstance(value, list):
            report.lost((*place, key), f"'{value}' is no type of JSON Schema")
        elif key in _KEPT:
            schema[key] = value
        elif key == "secret" and value:
            schema["writeOnly"] = True
        elif key == "properties" and isinstance(value, Mapping):
            schema |= {k: v for k, v in schema_of(value, (*place, key), report).items() if k != "type"}
        elif key in _MEANINGLESS:
            report.ignored((*place, key))
        elif key not in ("required", "secret"):
            report.lost((*place, key), "is not carried into the schema")
    return schema


def fields_of(schema: Any, place: Place, report: Report, step: str) -> dict[str, Any]:
    """What people fill in, of the schema of an answer."""
    if not isinstance(schema, Mapping):
        if schema:
            report.lost(place, "the fields must be written here; they cannot come from a variable", step=step)
        return {}
    properties = schema.get("properties", {}) if "properties" in schema or schema.get("type") == "object" else schema
    if not isinstance(properties, Mapping):
        return {}
    fields = {}
    for name, given in properties.items():
        if not isinstance(given, Mapping):
            report.lost((*place, name), "is not a map that describes a field", step=step)
            continue
        fields[name] = one_schema(given, (*place, name), report)
        if given.get("required") is not True and "default" not in fields[name]:
            fields[name]["default"] = None
            report.note((*place, name), "is not required: its default is null", step=step)
            fields[name] = {k: v for k, v in fields[name].items() if k != "type"} | _or_null(fields[name])
    return fields


def _or_null(field: Mapping[str, Any]) -> dict[str, Any]:
    kind = field.get("type")
    return {"type": [kind, "null"]} if isinstance(kind, str) else {}
