"""Fields that a JSON Schema marks `writeOnly: true`: secret, so masked wherever their value is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

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
    """A masker of the texts that stand in the secret fields of `value`."""
    found: list[Any] = []
    if has_secrets(schema):
        _Walk(schema, found.append).run(value)
    return Masker(text for part in found for text in _texts(part))


def has_secrets(schema: Any) -> bool:
    """Whether any part of the schema is marked secret."""
    if isinstance(schema, Mapping):
        return schema.get("writeOnly") is True or any(map(has_secrets, schema.values()))
    return isinstance(schema, list) and any(map(has_secrets, schema))


def mask_echoes(masker: Masker, value: Any) -> Any:
    """JSON `value` with the masker's texts replaced in all its strings and keys."""
    if not masker:
        return value
    if isinstance(value, str):
        return masker.text(value)
    if isinstance(value, Mapping):
        return {masker.text(str(key)): mask_echoes(masker, part) for key, part in value.items()}
    if isinstance(value, list):
        return [mask_echoes(masker, part) for part in value]
    return value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


class _Walk:
    """Walks a value together with all the schemas that may apply to each part of it."""

    def __init__(self, root: Any, on_secret: Callable[[Any], Any]) -> None:
        self.root, self.on_secret = root, on_secret

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
        for key in ("$ref", "$dynamicRef"):
            if isinstance(schema.get(key), str):
                yield self._resolve(schema[key])

    def _resolve(self, reference: str) -> Any:
        """What a reference within the document points to: `#/$defs/name`, `#` or `#anchor`."""
        fragment = unquote(reference.partition("#")[2])
        if fragment and not fragment.startswith("/"):
            return _anchored(self.root, fragment)
        place: Any = self.root
        for part in fragment.split("/")[1:]:
            place = _child(place, part.replace("~1", "/").replace("~0", "~"))
        return place


def _child(place: Any, key: str) -> Any:
    if isinstance(place, Mapping):
        return place.get(key)
    if isinstance(place, list) and key.isdecimal() and int(key) < len(place):
        return place[int(key)]
    return None


def _anchored(place: Any, name: str) -> Any:
    if isinstance(place, Mapping):
        if name in (place.get("$anchor"), place.get("$dynamicAnchor")):
            return place
        return next((found for part in place.values() if (found := _anchored(part, name)) is not None), None)
    if isinstance(place, list):
        return next((found for part in place if (found := _anchored(part, name)) is not None), None)
    return None


def _for_key(schemas: Schemas, key: str) -> Schemas:
    return [found for schema in schemas for found in _of_key(schema, key) if isinstance(found, Mapping)]


def _of_key(schema: Mapping[str, Any], key: str) -> list[Any]:
    properties = _mapped(schema.get("properties"))
    named = [properties[key]] if key in properties else []
    patterns = _mapped(schema.get("patternProperties"))
    named += [part for pattern, part in patterns.items() if re.search(pattern, key)]
    rest = [] if named else [schema.get("additionalProperties")]
    return [*named, *rest, schema.get("unevaluatedProperties")]


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
