"""A form made from a JSON Schema: what it asks for, what was filled in, and what is wrong beside which field.

What a form cannot ask for well (`oneOf`, lists of maps, no type at all) is asked for as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.paths import child
from orchestrator.errors import Problem
from web.pages.forms import json_field

_KINDS = {"string": "text", "integer": "number", "number": "number", "boolean": "yes"}
_DEEPEST, _MOST = 4, 200
_APART = ("$ref", "$dynamicRef", "oneOf", "anyOf", "allOf", "if")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form.

    `key`: its name in the form; `path`: what problems call it (`input.amount`). `kind`: `text`, `number`, `yes`,
    `choice` or `many` (of `choices`), `list` (of texts or numbers, one a line), `secret`, `json`, or `group`.
    """

    key: str
    name: str
    path: str
    kind: str
    label: str
    hint: str
    required: bool
    value: Any
    of: str = "text"
    choices: tuple[Any, ...] = ()
    parts: tuple[Field, ...] = ()


def form_of(schema: Any, path: str, key: str = "v") -> tuple[Field, ...] | None:
    """The fields of an object's schema; None when only JSON can say what it wants."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return None
    if any(name in schema for name in _APART) or _count(schema) > _MOST:
        return None
    return _fields(schema, path, key, _DEEPEST)


def _count(schema: Mapping[str, Any]) -> int:
    """How many fields there are, groups within groups included."""
    parts = [part for part in schema["properties"].values() if isinstance(part, Mapping)]
    inner = (part for part in parts if isinstance(part.get("properties"), Mapping))
    return len(parts) + sum(map(_count, inner))


def _fields(schema: Mapping[str, Any], path: str, key: str, depth: int) -> tuple[Field, ...]:
    required = schema.get("required")
    needed = frozenset(required) if isinstance(required, list) else frozenset()
    properties: Mapping[str, Any] = schema["properties"]
    parts = ((name, part if isinstance(part, Mapping) else {}) for name, part in properties.items())
    return tuple(
        _field(name, part, child(path, name), f"{key}.{place}", name in needed, depth)
        for place, (name, part) in enumerate(parts)
    )


def _field(name: str, schema: Mapping[str, Any], path: str, key: str, required: bool, depth: int) -> Field:
    kind, of, choices = _kind(schema, depth)
    parts = _fields(schema, path, key, depth - 1) if kind == "group" else ()
    label, hint = str(schema.get("title") or name), _hint(schema, kind)
    return Field(key, name, path, kind, label, hint, required, schema.get("default"), of, choices, parts)


def _kind(schema: Mapping[str, Any], depth: int) -> tuple[str, str, tuple[Any, ...]]:
    """What asks for the value, what each of its parts is, and between what there is a choice."""
    one = _type(schema)
    if schema.get("writeOnly") is True:
        return "secret", _KINDS.get(one, "json"), ()
    if any(name in schema for name in _APART):
        return "json", "json", ()
    choices = _choices(schema)
    if choices:
        return "choice", "json", choices
    if one == "object" and isinstance(schema.get("properties"), Mapping) and depth > 0:
        return "group", "json", ()
    if one == "array" and isinstance(schema.get("items"), Mapping):
        return _listed(schema["items"])
    return _KINDS.get(one, "json"), "json", ()


def _listed(items: Mapping[str, Any]) -> tuple[str, str, tuple[Any, ...]]:
    choices = _choices(items)
    if choices:
        return "many", "json", choices
    of = _KINDS.get(_type(items), "json")
    plain = of in ("text", "number") and items.get("writeOnly") is not True
    return ("list", of, ()) if plain else ("json", "json", ())


def _type(schema: Mapping[str, Any]) -> str:
    """Its one type besides null; "" when it has none or several."""
    given = schema.get("type")
    types = [one for one in given if one != "null"] if isinstance(given, list) else [given]
    return str(types[0]) if len(types) == 1 and isinstance(types[0], str) else ""


def _choices(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    given = schema.get("enum")
    scalar = isinstance(given, list) and all(one is None or isinstance(one, str | int | float) for one in given)
    return tuple(given) if scalar and given else ()


def _hint(schema: Mapping[str, Any], kind: str) -> str:
    told = [str(schema["description"])] if schema.get("description") else []
    bounds = [(name, schema[name]) for name in ("minimum", "maximum") if isinstance(schema.get(name), int | float)]
    told += [f"{'at least' if name == 'minimum' else 'at most'} {bound}" for name, bound in bounds]
    told += [f"as {schema['format']}"] if isinstance(schema.get("format"), str) and kind == "text" else []
    told += {"list": ["one a line"], "json": ["as JSON"]}.get(kind, [])
    return "; ".join(told)


def read_form(fields: Sequence[Field], given: Any, errors: dict[str, str]) -> dict[str, Any]:
    """What was filled in (`given`: the form's MultiDict). What is empty is left out; faults go into `errors` by key."""
    found = ((one, list(_read(one, given, errors))) for one in fields)
    return {one.name: values[0] for one, values in found if values}


def _read(one: Field, given: Any, errors: dict[str, str]) -> Iterator[Any]:
    """The value, or nothing."""
    words = given.get(one.key, "")
    match one.kind:
        case "group":
            inner = read_form(one.parts, given, errors)
            if inner or one.required:
                yield inner
        case "many":
            chosen = frozenset(given.getlist(one.key))
            values = [choice for choice in one.choices if json.dumps(choice) in chosen]
            if values or one.required or one.value is not None:
                yield values
        case "choice":
            yield from [choice for choice in one.choices if json.dumps(choice) == words][:1]
        case "yes":
            yield from {"yes": [True], "no": [False]}.get(words, [])
        case "list":
            lines = [line.strip() for line in words.splitlines() if line.strip()]
            if lines or one.value is not None:
                yield [_scalar(line, one.of, one.key, errors) for line in lines]
        case _ if words == "":
            return
        case kind:
            yield _scalar(words, one.of if kind == "secret" else kind, one.key, errors)


def _scalar(words: str, kind: str, key: str, errors: dict[str, str]) -> Any:
    if kind == "text":
        return words.replace("\r\n", "\n")
    if kind == "yes":
        return words.strip().lower() in ("true", "yes")
    value = json_field({key: words}, key, errors)
    if kind == "number" and (key in errors or isinstance(value, bool) or not isinstance(value, int | float)):
        errors[key] = "This must be a number."
    return value


def beside_fields(fields: Sequence[Field], problems: Iterable[Problem], path: str) -> dict[str, str]:
    """Each problem by the key of the field it is about; those of none stand under "" with their place."""
    known = {one.path: one.key for one in _all(fields)}
    told: dict[str, list[str]] = {}
    for problem in problems:
        place = max((own for own in known if _within(problem.path, own)), key=len, default="")
        key = known.get(place, "")
        rest = problem.path.removeprefix(place) if key else problem.path.removeprefix(path).lstrip(".")
        message = (
            f"{rest.lstrip('.')}: {problem.message}" if rest else problem.message[:1].upper() + problem.message[1:]
        )
        told.setdefault(key, []).append(message + (f" ({problem.hint})" if problem.hint else ""))
    return {key: "; ".join(words) for key, words in told.items()}


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith((f"{place}.", f"{place}["))


def _all(fields: Sequence[Field]) -> Iterator[Field]:
    for one in fields:
        yield one
        yield from _all(one.parts)
