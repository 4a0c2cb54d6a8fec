"""What can be stored: the JSON round trip of a value, or the path to what in it cannot be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from orchestrator.domain.blobs import MARK, QUOTED, Blob, loads
from orchestrator.domain.describe import class_name, clean_text, describe_exception
from orchestrator.errors import TooLarge, UnstorableValue

__all__ = ["clean_text", "describe_exception", "storable"]

MAX_DEPTH = 200
_LOOKS = 100_000  # parts looked at to find the largest

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().raw_decode
_TEXT = frozenset({str})
_SCALARS = frozenset({int, float, bool, type(None)})

_Place = tuple["_Place | None", Any]


def storable(value: Any, *, max_bytes: int, blobs: bool = False) -> tuple[Any, str]:
    """The JSON round trip of `value` (new objects, tuples as lists) and its compact JSON text.

    Raises `UnstorableValue` with the path (`$.rows[3].when`) of what JSON or Postgres cannot hold, of a part nested
    over 200 deep, or of the largest part when the text has more than `max_bytes` bytes of UTF-8. References to the
    blob store may be in it only with `blobs`: it is then no user's value.
    """
    if not _is_plain(value, max_bytes):
        value = _Walk(value, max_bytes, blobs).plain()
    try:
        text = _encode(value)
        size = len(text) if text.isascii() else len(text.encode())
    except ValueError as error:  # NaN, an endless number, a lone surrogate: the walk names the path
        _Walk(value, max_bytes).plain()
        raise UnstorableValue("$", str(error)) from error
    if QUOTED in text:  # or a text that says the same, which may stay
        _Walk(value, max_bytes, blobs).plain()
    if "\\u0000" in text:  # or the text of a backslash and u0000, which may stay
        _Walk(value, max_bytes).plain()
    if size > max_bytes:
        raise _too_large(value, max_bytes)
    return loads(text) if QUOTED in text else _decode(text)[0], text


def _is_plain(value: Any, max_bytes: int) -> bool:
    """Whether `value` has only plain JSON types and is not too deep; raises when it is surely too large.

    Level by level, so that a value that contains itself, or one part many times over, ends soon.
    """
    level = [value]
    size = 0
    plain = True
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str:
                size += len(item)
            elif kind is dict:
                if not _TEXT.issuperset(map(type, item)):
                    return False
                size += 3 * len(item) + sum(map(len, item))
            elif kind is list or kind is tuple:
                size += len(item)
                plain = plain and kind is list
            elif kind not in _SCALARS:
                return False
            if size > max_bytes:
                raise _too_large(value, max_bytes)
            if kind is dict:
                below += item.values()
            elif kind is list or kind is tuple:
                below += item
        if not below:
            return plain
        level = below
    return False


class _Walk:
    """Makes plain JSON of a value part by part, and knows where it is."""

    def __init__(self, value: Any, max_bytes: int, blobs: bool = False) -> None:
        self._value, self._max_bytes, self._blobs = value, max_bytes, blobs
        self._size = 0
        self._open: set[int] = set()  # containers being walked

    def plain(self) -> Any:
        """The value in plain JSON types; raises `UnstorableValue`."""
        return self._part(self._value, None, 0)

    def _part(self, value: Any, place: _Place | None, depth: int) -> Any:
        kind = type(value)  # not isinstance: an object may lie about its class
        if kind is bool or value is None:
            self._count(4)
            return value
        if issubclass(kind, str):
            return self._text(value, place)
        if kind is Blob and self._blobs:
            return value
        if issubclass(kind, int):
            return self._int(value, place)
        if issubclass(kind, float):
            return self._float(value, place)
        for base in (dict, list, tuple):
            if issubclass(kind, base):
                return self._container(base, value, place, depth)
        raise UnstorableValue(_path(place), _refusal(value))

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._max_bytes:
            raise _too_large(self._value, self._max_bytes)

    def _text(self, value: str, place: _Place | None) -> str:
        plain = str.__str__(value)
        self._count(len(plain) + 2)
        fault = _text_fault(plain)
        if fault:
            raise UnstorableValue(_path(place), f"the text has {fault}, which Postgres cannot store")
        return plain

    def _int(self, value: int, place: _Place | None) -> int:
        plain = int.__int__(value)
        try:
            self._count(len(str(plain)))
        except ValueError as error:
            raise UnstorableValue(_path(place), "the number has more than 4,300 digits") from error
        return plain

    def _float(self, value: float, place: _Place | None) -> float:
        plain = float.__float__(value)
        self._count(3)
        if plain != plain or plain in (float("inf"), float("-inf")):
            raise UnstorableValue(_path(place), f"{plain} is not a number JSON can hold")
        return plain

    def _container(self, base: Any, value: Any, place: _Place | None, depth: int) -> Any:
        if id(value) in self._open:
            raise UnstorableValue(_path(place), "it contains itself")
        if depth >= MAX_DEPTH:
            raise UnstorableValue(_path(place), f"it is nested more than {MAX_DEPTH} levels deep")
        self._count(2 + base.__len__(value))
        self._open.add(id(value))
        plain = self._map(value, place, depth) if base is dict else self._list(base, value, place, depth)
        self._open.discard(id(value))
        return plain

    def _map(self, value: dict[Any, Any], place: _Place | None, depth: int) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for key, item in dict.items(value):
            if not issubclass(type(key), str):
                raise UnstorableValue(_path(place), f"a key is {_named(key)}; keys must be text")
            if key == MARK:
                raise UnstorableValue(_path(place), f"the key '{MARK}' stands for a value in the blob store")
            plain[self._text(key, (place, key))] = self._part(item, (place, key), depth + 1)
        return plain

    def _list(self, base: Any, value: Any, place: _Place | None, depth: int) -> list[Any]:
        items: Iterator[Any] = base.__iter__(value)
        return [self._part(item, (place, index), depth + 1) for index, item in enumerate(items)]


def _text_fault(text: str) -> str | None:
    if "\0" in text:
        return "a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half of a surrogate pair"
    return None


_ADVICE = {
    "set": "a set; give a list",
    "frozenset": "a set; give a list",
    "bytes": "bytes; give text (base64, say)",
    "bytearray": "bytes; give text (base64, say)",
    "memoryview": "bytes; give text (base64, say)",
    "datetime": "a datetime; give its isoformat()",
    "date": "a date; give its isoformat()",
    "time": "a time; give its isoformat()",
    "timedelta": "a timedelta; give its total_seconds()",
    "Decimal": "a Decimal; give its text",
    "UUID": "a UUID; give its text",
    "generator": "a generator; give a list",
    "coroutine": "a coroutine that was not awaited",
    "complex": "a complex number",
    "ndarray": "an array; give its tolist()",
}


def _refusal(value: Any) -> str:
    name = class_name(type(value))
    return f"JSON cannot hold {_ADVICE.get(name) or f'an object of class {name}'}"


def _named(key: Any) -> str:
    """A key that is not text, for a message; only what prints safely is printed."""
    if key is None or type(key) in (bool, float) or (type(key) is int and key.bit_length() < 200):
        return f"{key!r} ({class_name(type(key))})"
    return f"of class {class_name(type(key))}"


def _too_large(value: Any, max_bytes: int) -> TooLarge:
    """Names the largest part at the top level, as far as a short look tells."""
    parts = list(islice(_parts(value), _LOOKS // 10))
    share = _LOOKS // max(1, len(parts))
    largest, place = 0, None
    for part, item in parts:
        size = _size(item, share)
        if size > largest:
            largest, place = size, (None, part)
    where = f"; the largest part makes about {largest} or more" if place else ""
    return TooLarge(_path(place), f"the value makes more than {max_bytes} bytes of JSON{where}")


def _parts(value: Any) -> Iterator[tuple[Any, Any]]:
    kind = type(value)
    if issubclass(kind, dict):
        return iter(dict.items(value))
    return enumerate(value) if issubclass(kind, list | tuple) else iter(())


def _size(value: Any, looks: int) -> int:
    """About how many bytes of JSON `value` makes, its first `looks` parts looked at."""
    stack = [value]
    size = 0
    while stack and looks > 0:
        item = stack.pop()
        looks -= 1
        size += 2
        if issubclass(type(item), str):
            size += str.__len__(item)
        elif issubclass(type(item), dict | list | tuple):
            size += 2 * len(item)
            size += sum(str.__len__(part) + 3 for part, _ in islice(_parts(item), looks) if issubclass(type(part), str))
            stack += (child for _, child in islice(_parts(item), looks))
    return size


def _path(place: _Place | None) -> str:
    """`$.rows[3].when`; a key that is not a name in quotes."""
    parts: list[str] = []
    while place is not None:
        place, part = place
        parts.append(_step(part))
    return clean_text("$" + "".join(reversed(parts)), 500)


def _step(part: Any) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    name = str.__str__(part)
    plain = name.isidentifier()
    return f".{name[:100]}" if plain else f"[{name[:100]!r}]"
