"""Whether a value is plain JSON, as documents handed over as data must be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from orchestrator.domain.limits import Limits
from orchestrator.domain.loading.faults import MAX_DIGITS, too_deep, unstorable
from orchestrator.domain.paths import join, quoted
from orchestrator.errors import Problem

_TOO_LARGE = 10**MAX_DIGITS
Keys = tuple["Keys | None", str | int]


def plain_problems(value: Any, limits: Limits) -> list[Problem]:
    """What JSON cannot hold in `value`, by path, up to the first hundred; or that it is too large or too deep."""
    found: list[Problem] = []
    size = 0
    for keys, part, depth in _parts(value):
        fault, weight = _fault(part, depth, limits)
        size += weight
        if size > limits.document_bytes:
            return [Problem("", f"as JSON it is larger than {limits.document_bytes} bytes, the limit")]
        if fault is not None:
            found.append(Problem(_path(keys), fault))
            if depth >= limits.depth or len(found) >= 100:
                return found
    return found


def _parts(value: Any) -> Iterator[tuple[Keys | None, Any, int]]:
    """The value and everything in it, depth first, with its keys and how many lists and maps are around it."""
    todo: list[tuple[Keys | None, Any, int]] = [(None, value, 0)]
    while todo:
        keys, part, depth = todo.pop()
        yield keys, part, depth
        if isinstance(part, dict):
            todo.extend([((keys, key), inner, depth + 1) for key, inner in part.items()])
        elif isinstance(part, list):
            todo.extend([((keys, index), inner, depth + 1) for index, inner in enumerate(part)])


def _fault(part: Any, depth: int, limits: Limits) -> tuple[str | None, int]:
    """What is wrong with the part by itself, and its bytes as compact JSON, escapes aside."""
    if isinstance(part, str):
        return (None if part.isascii() and "\0" not in part else unstorable(part)), _size(part) + 1
    if isinstance(part, dict | list):
        if depth >= limits.depth:
            return too_deep(limits.depth), 2
        return _key_fault(part) if isinstance(part, dict) else (None, 2)
    return _scalar_fault(part), 5


def _key_fault(part: dict[Any, Any]) -> tuple[str | None, int]:
    size = 2
    for key in part:
        if not isinstance(key, str):
            return f"a key must be a text, not {type(key).__name__}", size
        fault = None if key.isascii() and "\0" not in key else unstorable(key)
        if fault is not None:
            return fault, size
        size += _size(key) + 2
    return None, size


def _size(text: str) -> int:
    return 2 + (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))


def _scalar_fault(part: Any) -> str | None:
    if part is None or isinstance(part, bool):
        return None
    if isinstance(part, int):
        return f"a number has more than {MAX_DIGITS} digits" if abs(part) >= _TOO_LARGE else None
    if isinstance(part, float):
        return None if math.isfinite(part) else f"{part} is not a number that JSON can hold"
    hint = "; use a list" if isinstance(part, tuple | set | frozenset) else ""
    return f"a {type(part).__name__} is not plain JSON{hint}"


def _path(keys: Keys | None) -> str:
    parts: list[str | int] = []
    while keys is not None:
        keys, part = keys
        parts.append(part if isinstance(part, str | int) else quoted(str(part)))
    return join(reversed(parts))
