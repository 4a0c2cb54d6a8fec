"""Whether a value is plain JSON, as documents handed over as data must be."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from orchestrator.domain.blobs import MARK
from orchestrator.domain.limits import Limits
from orchestrator.domain.loading.faults import MAX_DIGITS, too_deep, unstorable
from orchestrator.domain.paths import join, quoted
from orchestrator.errors import Problem

_TOO_LARGE = 10**MAX_DIGITS
_MOST_PROBLEMS = 100
# A number, boolean or null with its comma; close enough for a limit.
_SCALAR_BYTES = 5
Place = tuple["Place | None", Any]  # what is around it, and its key or index there


def plain_problems(value: Any, limits: Limits) -> list[Problem]:
    """What JSON cannot hold in `value`, by path, up to the first hundred; or that it is too large or too deep."""
    walk = _Walk(limits)
    with suppress(_Enough):
        walk.run(value)
    return walk.problems


class _Enough(Exception):
    """There is no use in going on."""


class _Walk:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.size = 0  # bytes of compact JSON so far, escapes aside
        self.problems: list[Problem] = []
        self.open: list[tuple[Place | None, Any, int]] = []

    def run(self, value: Any) -> None:
        self._parts([(None, value)], None, 0)
        while self.open:
            place, container, depth = self.open.pop()
            if depth > self.limits.depth:
                self._found(place, too_deep(self.limits.depth))
                raise _Enough
            if isinstance(container, dict):
                self._keys(container, place)
                self._parts(container.items(), place, depth)
            else:
                self._parts(enumerate(container), place, depth)

    def _parts(self, parts: Iterable[tuple[Any, Any]], around: Place | None, depth: int) -> None:
        """Look at scalars at once, at lists and maps later."""
        for key, part in parts:
            if isinstance(part, str):
                self.size += _size(part)
                fault = None if part.isascii() and "\0" not in part else unstorable(part)
            elif isinstance(part, dict | list):
                self.size += 3
                self.open.append(((around, key), part, depth + 1))
                continue
            else:
                self.size += _SCALAR_BYTES
                fault = _scalar_fault(part)
            if fault is not None:
                self._found((around, key), fault)
        if self.size > self.limits.document_bytes:
            self.problems = [Problem("", f"as JSON it is larger than {self.limits.document_bytes} bytes, the limit")]
            raise _Enough

    def _keys(self, container: dict[Any, Any], place: Place | None) -> None:
        for key in container:
            if not isinstance(key, str):
                self._found(place, f"a key must be a text, not {type(key).__name__}")
                continue
            self.size += _size(key)
            fault = None if key.isascii() and "\0" not in key else unstorable(key)
            if key == MARK:
                fault = f"the key '{MARK}' stands for a value in the blob store"
            if fault is not None:
                self._found(place, fault)

    def _found(self, place: Place | None, fault: str) -> None:
        self.problems.append(Problem(_path(place), fault))
        if len(self.problems) >= _MOST_PROBLEMS:
            raise _Enough


def _size(text: str) -> int:
    return 3 + (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))


def _scalar_fault(part: Any) -> str | None:
    if part is None or isinstance(part, bool):
        return None
    if isinstance(part, int):
        return f"a number has more than {MAX_DIGITS} digits" if abs(part) >= _TOO_LARGE else None
    if isinstance(part, float):
        return None if math.isfinite(part) else f"{part} is not a number that JSON can hold"
    hint = "; use a list" if isinstance(part, tuple | set | frozenset) else ""
    return f"a {type(part).__name__} is not plain JSON{hint}"


def _path(place: Place | None) -> str:
    keys: list[str | int] = []
    while place is not None:
        place, key = place
        keys.append(key if isinstance(key, str | int) else quoted(str(key)))
    return join(reversed(keys[:-1]))  # the outermost is that of the value itself
