"""Fields that a JSON Schema marks `writeOnly: true`: secret, so masked wherever their value is shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from orchestrator.domain.json_schema.budget import TooCostly
from orchestrator.domain.json_schema.patterns import search
from orchestrator.domain.json_schema.references import REFERENCES, anchors, resolve
from orchestrator.domain.masking import MASK, Masker

_ALL_APPLY = ("allOf", "anyOf", "oneOf")
_ONE_APPLIES = ("if", "then", "else")
Schemas = list[Mapping[str, Any]]


def mask_fields(schema: Any, value: Any) -> Any:
    """`value` with every secret field's value replaced by `***`, at any depth.

    All branches of `anyOf`, `oneOf` and `if` count: rather hidden than shown.
    """
    return _Walk(schema, lambda _: MASK).run(value) if has_secrets(schema) else value


def find_secrets(schema: Any, value: Any) -> Masker:
    """A masker of the texts and numbers that stand in the secret fields of `value`."""
    found: list[Any] = []
    if has_secrets(schema):
        _Walk(schema, found.append).run(value)
    return Masker(text for part in found for text in _texts(part))


def has_secrets(schema: Any) -> bool:
    """Whether any part of the schema may be marked secret: rather one too many."""
    if isinstance(schema, Mapping):
        return schema.get("writeOnly") is True or any(map(has_secrets, schema.values()))
    return isinstance(schema, list) and any(map(has_secrets, schema))


def _texts(value: Any) -> Iterator[str]:
    """All that a text could echo: texts, and numbers as JSON writes them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield json.dumps(value)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


class _Walk:
    """Walks a value together with all the schemas that may apply to each part of it."""

    def __init__(self, root: Any, on_secret: Callable[[Any], Any]) -> None:
        self.root, self.on_secret, self.named = root, on_secret, anchors(root)

    def run(self, value: Any) -> Any:
        return self._part([self.root] if isinstance(self.root, Mapping) else [], value)

    def _part(self, schemas: Schemas, value: Any) -> Any:
        if not schemas:
            return value
        schemas = self._expanded(schemas)
        if any(schema.get("writeOnly") is True for schema in schemas):
            return self.on_secret(value)
        if isinstance(value, Mapping):
            return {key: self._part(_for_key(schemas, str(key)), part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._part(_for_index(schemas, index), part) for index, part in enumerate(value)]
        return value

    def _expanded(self, schemas: Schemas) -> Schemas:
        """The schemas and all they refer to for the same value; each once, so that a loop of references ends."""
        found: dict[int, Mapping[str, Any]] = {}
        todo: list[Any] = list(schemas)
        while todo:
            schema = todo.pop()
            if isinstance(schema, Mapping) and id(schema) not in found:
                found[id(schema)] = schema
                todo.extend(self._referred(schema))
        return list(found.values())

    def _referred(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        for key in _ALL_APPLY:
            yield from _listed(schema.get(key))
        for key in _ONE_APPLIES:
            yield schema.get(key)
        yield from _mapped(schema.get("dependentSchemas")).values()
        for key in REFERENCES:
            if isinstance(schema.get(key), str):
                yield self._resolve(schema[key])

    def _resolve(self, reference: str) -> Any:
        """What a reference within the document points to; None when there is nothing."""
        try:
            return resolve(self.root, self.named, reference)
        except LookupError:
            return None


def _for_key(schemas: Schemas, key: str) -> Schemas:
    return [found for schema in schemas for found in _of_key(schema, key) if isinstance(found, Mapping)]


def _of_key(schema: Mapping[str, Any], key: str) -> list[Any]:
    properties = _mapped(schema.get("properties"))
    named = [properties[key]] if key in properties else []
    patterns = _mapped(schema.get("patternProperties"))
    named += [part for pattern, part in patterns.items() if _matches(pattern, key)]
    rest = [] if named else [schema.get("additionalProperties")]
    return [*named, *rest, schema.get("unevaluatedProperties")]


def _matches(pattern: str, key: str) -> bool:
    """Whether the pattern may be meant for the key: rather hidden than shown."""
    try:
        return search(pattern, key)
    except TooCostly:
        return True


def _for_index(schemas: Schemas, index: int) -> Schemas:
    return [found for schema in schemas for found in _of_index(schema, index) if isinstance(found, Mapping)]


def _of_index(schema: Mapping[str, Any], index: int) -> list[Any]:
    prefix = _listed(schema.get("prefixItems"))
    item = prefix[index] if index < len(prefix) else schema.get("items")
    return [item, schema.get("contains"), schema.get("unevaluatedItems")]


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _mapped(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
