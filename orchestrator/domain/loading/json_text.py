"""Strict JSON (RFC 8259) to data: every key once, no NaN, numbers a double can hold."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from orchestrator.domain.limits import Limits
from orchestrator.domain.loading.faults import MAX_DIGITS, place, refused_at, too_deep, unstorable
from orchestrator.domain.paths import join, quoted
from orchestrator.errors import InvalidDefinition

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]++')
_ESCAPED = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_CONSTANTS = ("NaN", "Infinity", "-Infinity")


class NotJson(Exception):
    """The text is not JSON: `error` says where it stops to be."""

    def __init__(self, error: InvalidDefinition) -> None:
        self.error = error
        super().__init__(error)


class _Suspect(Exception):
    """The fast reader met what may not be: the slow one says where."""


def load_json(text: str, limits: Limits) -> Any:
    """The value of a JSON text. Raises `NotJson`, or `InvalidDefinition` for JSON that is refused."""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NotJson(_syntax(text, error)) from error
    except (_Suspect, RecursionError) as error:
        raise _located(text, limits) from error
    if _ESCAPED.search(text) or _deeper(value, limits.depth):
        _refuse_faults(text, limits)
    return value


def _syntax(text: str, error: json.JSONDecodeError) -> InvalidDefinition:
    line, column = place(text, error.pos)
    said = error.msg[:1].lower() + error.msg[1:]
    return refused_at(text, error.pos, f"it is not valid JSON: {said.removesuffix(f' line {line} column {column}')}")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Suspect
    return made


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Suspect
    return value


def _int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise _Suspect
    return int(text)


def _constant(_: str) -> NoReturn:
    raise _Suspect


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_float=_float, parse_int=_int, parse_constant=_constant)


def _deeper(value: Any, depth: int) -> bool:
    """Whether lists and maps are nested more than `depth` deep."""
    level = [value]
    for _ in range(depth):
        inside: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                inside.extend(each for each in part.values() if isinstance(each, dict | list))
            elif isinstance(part, list):
                inside.extend(each for each in part if isinstance(each, dict | list))
        if not inside:
            return False
        level = inside
    return True


def _located(text: str, limits: Limits) -> InvalidDefinition:
    try:
        _refuse_faults(text, limits)
    except InvalidDefinition as found:
        return found
    return refused_at(text, 0, too_deep(limits.depth))


def _refuse_faults(text: str, limits: Limits) -> None:
    """Raise for the first thing that is refused in text that is JSON, or was until the fast reader stopped."""
    for token in _tokens(text):
        message = _fault(token, limits)
        if message is not None:
            path = "" if len(token.frames) >= limits.depth else join(frame.key for frame in token.frames)
            raise refused_at(text, token.offset, message, path=path)


@dataclass(slots=True)
class _Frame:
    """An open list or map. `key` is where in it we are; `seen` where each key stands."""

    is_map: bool
    key: str | int
    wants_key: bool
    seen: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Token:
    """`frames` are what is open around it, until the next token is asked for."""

    text: str
    offset: int
    frames: list[_Frame]
    twice: bool = False


def _tokens(text: str) -> Iterator[_Token]:
    """The values, keys and opening brackets of JSON, each with the path to where it stands."""
    frames: list[_Frame] = []
    for found in _TOKEN.finditer(text):
        token, offset = found.group(), found.start()
        if token in "]}":
            if frames:
                frames.pop()
        elif token == ",":
            _next(frames)
        elif token == ":":
            continue
        else:
            yield _entered(frames, token, offset)
            if token in "[{":
                frames.append(_Frame(token == "{", "" if token == "{" else 0, wants_key=token == "{"))


def _next(frames: list[_Frame]) -> None:
    if frames and isinstance(frames[-1].key, int):
        frames[-1].key += 1
    elif frames:
        frames[-1].wants_key = True


def _entered(frames: list[_Frame], token: str, offset: int) -> _Token:
    twice = False
    if frames and frames[-1].wants_key and token[0] == '"':
        frame = frames[-1]
        frame.key, frame.wants_key = _text(token), False
        twice = frame.key in frame.seen
        frame.seen.setdefault(frame.key, offset)
    return _Token(token, offset, frames, twice)


def _text(token: str) -> str:
    if "\\" not in token:
        return token[1:-1]
    try:
        value: str = json.loads(token)
    except json.JSONDecodeError:
        return token
    return value


def _fault(token: _Token, limits: Limits) -> str | None:
    first = token.text[0]
    if token.twice:
        return f"the key {quoted(_text(token.text))} stands twice in this map"
    if first == '"':
        return unstorable(_text(token.text))
    if first in "[{":
        return too_deep(limits.depth) if len(token.frames) >= limits.depth else None
    if token.text in _CONSTANTS:
        return f"{token.text} is not a number that JSON can hold"
    return _number_fault(token.text)


def _number_fault(text: str) -> str | None:
    if not re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", text):
        return None
    if text.lstrip("-").isdigit():
        return f"a number has more than {MAX_DIGITS} digits" if len(text) > MAX_DIGITS else None
    return None if math.isfinite(float(text)) else f"{quoted(text)[1:-1]} is larger than any number that can be held"
