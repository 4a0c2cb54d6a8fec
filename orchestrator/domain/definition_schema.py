"""The JSON Schema of the definition format, made from the schemas that `parse` checks documents with."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from marshmallow import fields

from orchestrator.domain.definition import WRITTEN_KINDS
from orchestrator.domain.format.fields import Name, Part, alternatives
from orchestrator.domain.format.items import ItemsSchema, WithItems
from orchestrator.domain.format.nested import Edges, Map, Steps, Strict
from orchestrator.domain.format.schemas import (
    ApprovalSchema,
    CacheSchema,
    DefaultsSchema,
    DocumentSchema,
    EdgeSchema,
    HandlerSchema,
    RetrySchema,
    StepSchema,
    WaitForSchema,
)

_PARTS: dict[str, type[Strict]] = {
    "retry": RetrySchema,
    "approval": ApprovalSchema,
    "cache": CacheSchema,
    "wait_for": WaitForSchema,
    "edge": EdgeSchema,
    "with_items": ItemsSchema,
    "defaults": DefaultsSchema,
    "handler": HandlerSchema,
    "step": StepSchema,
}
_REFERENCES = {schema: {"$ref": f"#/$defs/{name}"} for name, schema in _PARTS.items()}
_ONE_KIND: dict[str, Any] = {"anyOf": [{"required": [kind.value]} for kind in WRITTEN_KINDS]}
_NOT_BOTH: dict[str, Any] = {
    "allOf": [{"not": {"required": [one.value, other.value]}} for one, other in combinations(WRITTEN_KINDS, 2)]
}


def definition_schema() -> dict[str, Any]:
    """A JSON Schema (2020-12) with descriptions, for editors. A fresh copy with every call.

    It refuses what `parse` refuses for its shape. What holds between parts (cycles, names, templates, the bounds of a
    retry) only `parse` can tell.
    """
    made: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Workflow definition",
        **_map(DocumentSchema),
        "if": {"required": ["defaults"], "properties": {"defaults": {"type": "object", "required": ["function"]}}},
        "else": {"properties": {"steps": {"items": _ONE_KIND}}},
        "$defs": {name: _map(schema) for name, schema in _PARTS.items()},
    }
    made["$defs"]["step"] |= _NOT_BOTH
    made["$defs"]["handler"] |= _NOT_BOTH | _ONE_KIND
    return made


def _map(schema: type[Strict]) -> dict[str, Any]:
    known = schema.known()
    made: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {key: _described(field) for key, field in known.items()},
    }
    required = [key for key, field in known.items() if field.required]
    return made | {"required": required} if required else made


def _described(field: fields.Field[Any]) -> dict[str, Any]:
    shape = _shape(field)
    return {"description": field.metadata["description"]} | (alternatives(shape) if field.allow_none else shape)


def _shape(field: fields.Field[Any]) -> dict[str, Any]:
    if isinstance(field, Map):
        return dict(_REFERENCES[field.of])
    if isinstance(field, Steps):
        return {"type": "array", "minItems": 1, "items": _REFERENCES[field.of]}
    if isinstance(field, Edges):
        name = Name("").shape()
        return {"anyOf": [name, {"type": "array", "items": {"anyOf": [name, _REFERENCES[field.of]]}}]}
    if isinstance(field, WithItems):
        return {"anyOf": [*field.short(), _REFERENCES[field.of]]}
    if isinstance(field, Part):
        return field.shape()
    raise TypeError(f"{type(field).__name__} has no shape")
