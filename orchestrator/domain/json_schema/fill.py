"""Filling in defaults."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from orchestrator.domain.json_schema.budget import TooCostly, spend
from orchestrator.domain.json_schema.references import REFERENCES

Resolve = Callable[[str], Any]
_DEEPEST = 200
_MISSING = object()


def filled(schema: Any, value: Any, resolve: Resolve) -> Any:
    """A copy of `value` in which properties that are missing have their `default`, at any depth.

    Defaults are found in `properties`, also behind `$ref` and `allOf`, of maps that are there; not in the branches of
    `anyOf`, `oneOf` and `if`, of which nobody can say which holds. A default is filled in turn.
    """
    return _Filling(resolve).fill([schema], value, 0)


class _Filling:
    def __init__(self, resolve: Resolve) -> None:
        self.resolve = resolve

    def fill(self, schemas: list[Any], value: Any, depth: int) -> Any:
        spend()
        if depth > _DEEPEST:
            raise TooCostly("its defaults are nested without end")
        applied = [part for schema in schemas for part in self._applied(schema)]
        if isinstance(value, dict):
            return self._map(applied, value, depth)
        if isinstance(value, list):
            return [self.fill(_for_item(applied, index), part, depth + 1) for index, part in enumerate(value)]
        return value

    def _map(self, schemas: list[Mapping[str, Any]], value: Mapping[str, Any], depth: int) -> dict[str, Any]:
        made = {key: self.fill(_for_key(schemas, key), part, depth + 1) for key, part in value.items()}
        for schema in schemas:
            for key, part in schema.get("properties", {}).items():
                if key not in made and (default := self._default(part)) is not _MISSING:
                    made[key] = self.fill(_for_key(schemas, key), copy.deepcopy(default), depth + 1)
        return made

    def _default(self, schema: Any) -> Any:
        return next((part["default"] for part in self._applied(schema) if "default" in part), _MISSING)

    def _applied(self, schema: Any) -> Iterator[Mapping[str, Any]]:
        """The schema and those that hold for the same value whatever it is; each once."""
        todo, seen = [schema], set()
        while todo:
            part = todo.pop(0)
            if not isinstance(part, dict) or id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            todo.extend(self.resolve(part[key]) for key in REFERENCES if key in part)
            todo.extend(part.get("allOf", ()))


def _for_key(schemas: list[Mapping[str, Any]], key: str) -> list[Any]:
    found = []
    for schema in schemas:
        properties = schema.get("properties", {})
        if key in properties:
            found.append(properties[key])
        elif "patternProperties" not in schema and "additionalProperties" in schema:
            found.append(schema["additionalProperties"])
    return found


def _for_item(schemas: list[Mapping[str, Any]], index: int) -> list[Any]:
    found = []
    for schema in schemas:
        prefix = schema.get("prefixItems", [])
        if index < len(prefix):
            found.append(prefix[index])
        elif "items" in schema:
            found.append(schema["items"])
    return found
