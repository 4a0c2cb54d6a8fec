"""Whether a document has the shape of a workflow: known keys, values of the right kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marshmallow import ValidationError

from orchestrator.domain.definition import HANDLER_NAMES, WRITTEN_KINDS
from orchestrator.domain.format.messages import NOT_A_MAP, Message
from orchestrator.domain.format.nested import Strict
from orchestrator.domain.format.schemas import DocumentSchema
from orchestrator.domain.paths import follow, join
from orchestrator.domain.sandbox.words import kind
from orchestrator.errors import Problem

_DOCUMENT = DocumentSchema()
Keys = tuple[str | int, ...]
# Looking for near names takes long.
_MOST_HINTS = 100

_KINDS = tuple(one.value for one in WRITTEN_KINDS)


@dataclass(frozen=True, slots=True)
class Shape:
    """`right` is the document without what is wrong in it; every step keeps its place."""

    problems: list[Problem]
    right: Mapping[str, Any]


def check_shape(document: dict[str, Any]) -> Shape:
    """All problems of shape, each with its path."""
    problems = [Problem(path, text) for path, text in _kind_problems(document)]
    try:
        _DOCUMENT.load(document)
    except ValidationError as error:
        right = error.valid_data if isinstance(error.valid_data, dict) else {}
        flat = enumerate(_flat(error.messages, ()))
        told = [_problem(message, keys, document, hints=at < _MOST_HINTS) for at, (keys, message) in flat]
        return Shape(told + problems, _with_names(right, document))
    return Shape(problems, _with_names(document, document) if problems else document)


def schema_problems(schema: Strict, value: Mapping[str, Any]) -> list[Problem]:
    """All that is wrong with a map by its schema, each with its path."""
    try:
        schema.load(value)
    except ValidationError as error:
        return [_problem(message, keys, value, hints=True) for keys, message in _flat(error.messages, ())]
    return []


def _flat(messages: Any, keys: Keys) -> Iterator[tuple[Keys, str]]:
    """Marshmallow's nested messages, each with where it belongs."""
    if isinstance(messages, Mapping):
        for key, inner in messages.items():
            yield from _flat(inner, keys if key == "_schema" else (*keys, key))
    else:
        yield from ((keys, message) for message in messages)


def _problem(message: str, keys: Keys, document: Any, *, hints: bool) -> Problem:
    text = f"{NOT_A_MAP}, not {kind(follow(document, keys))}" if message == NOT_A_MAP else str(message)
    return Problem(join(keys), text, message.hint() if hints and isinstance(message, Message) else None)


def _kind_problems(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Steps and handlers must say, once, what they do."""
    defaults = document.get("defaults")
    by_default = isinstance(defaults, dict) and "function" in defaults
    steps = document.get("steps")
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        if isinstance(step, dict):
            yield from _kind_problem(f"steps[{index}]", step, by_default)
            if isinstance(step.get("compensate"), dict):
                yield from _kind_problem(f"steps[{index}].compensate", step["compensate"], False)
    for name in HANDLER_NAMES:
        handler = document.get(name)
        if isinstance(handler, dict):
            yield from _kind_problem(name, handler, False)


def _kind_problem(path: str, step: dict[str, Any], by_default: bool) -> Iterator[tuple[str, str]]:
    given = [key for key in _KINDS if key in step]
    if len(given) > 1:
        yield path, f"has {_words(given, 'and')}; a step does one thing"
    elif not (by_default or given):
        yield path, f"needs {_words(_KINDS, 'or')}: it does not say what to do"


def _words(keys: Sequence[str], last: str) -> str:
    quoted = [f"'{key}'" for key in keys]
    return f"{', '.join(quoted[:-1])} {last} {quoted[-1]}"


def _with_names(right: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """What checking the rest needs to go on: names as they are written, and functions where one was meant."""
    steps, given = right.get("steps"), document.get("steps")
    pairs = zip(steps, given, strict=True) if isinstance(steps, list) and isinstance(given, list) else ()
    mended = [_mended(step, raw, index) for index, (step, raw) in enumerate(pairs)]
    return right | {"name": right.get("name", ""), "steps": mended}


def _mended(step: dict[str, Any], raw: Any, index: int) -> dict[str, Any]:
    """A step without a name gets one that nothing can refer to. One that does not say what to do calls a function,
    where it has what does not go with doing nothing."""
    if not isinstance(raw, dict):
        return {"name": f"\x00{index}"}
    name = raw.get("name")
    meant = "function" in raw or (raw.keys() & {"with_items", "cache"} and not raw.keys() & set(_KINDS))
    called = {"function": ""} if meant and "function" not in step else {}
    return step | called | {"name": name if isinstance(name, str) else f"\x00{index}"}
