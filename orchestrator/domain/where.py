"""Conditions on values that runs were started with: `input.customer.id=42`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from orchestrator.domain.secret_fields import mask_fields
from orchestrator.errors import InvalidInput, Problem

_ROOT = "input"
_MOST_KEYS, _MOST_LISTS, _LONGEST = 20, 2, 1000
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_KEY = re.compile(r'\.(?:"((?:[^"\\]|\\.)*)"|([^\s.="\[\]]+))|(\[\])')
_MANY = 50  # elements of a list that are tried for a secret: schemas may name them one by one
Key = str | None  # None: some element of a list


@dataclass(frozen=True, slots=True)
class Where:
    """That a value within a run's input is this one. `text` is how it was written, which is all that is compared."""

    text: str
    keys: tuple[Key, ...] = field(compare=False)
    values: tuple[Any, ...] = field(compare=False)

    def documents(self) -> list[Any]:
        """What the input has to contain one of, as JSON."""
        return [self._around(value, 1) for value in self.values]

    def may_be_secret(self, schema: Any) -> bool:
        """Whether a run's input of this schema might have a secret there."""
        probe = self._around("probe", _MANY)
        return bool(mask_fields(schema, probe) != probe)

    def _around(self, value: Any, many: int) -> Any:
        for key in reversed(self.keys):
            value = [value] * many if key is None else {key: value}
        return value


def read_where(text: str) -> Where:
    """`input.PATH=VALUE`: keys with dots between, in quotes where they hold other characters than letters; `[]` is any
    element of a list.

    A value that is a number, `true`, `false` or `null` is meant as that or as a text, one in quotes as a text. Raises
    `InvalidInput`.
    """
    path, equals, words = _split(text)
    keys = _keys(path) if equals and len(text) <= _LONGEST else ()
    if not 0 < len(keys) <= _MOST_KEYS or keys.count(None) > _MOST_LISTS:
        raise _refused('must be input.KEY=VALUE, such as input.customer.id=42 or input.items[].sku="a b"')
    values = _values(words)
    if any(_UNSTORABLE.search(part) for part in (*keys, *values) if isinstance(part, str)):
        raise _refused("has a character that no input can hold")
    return Where(text, keys, values)


def read_all(texts: Iterable[str]) -> tuple[Where, ...]:
    """Each of several; raises `InvalidInput`."""
    return tuple(map(read_where, dict.fromkeys(texts)))


def _refused(told: str) -> InvalidInput:
    return InvalidInput([Problem("where", told)], "the runs cannot be looked for")


def _split(text: str) -> tuple[str, str, str]:
    """The path, `=`, and the value; an `=` within quotes is a part of the path."""
    end, quoted = 0, False
    while end < len(text) and (quoted or text[end] != "="):
        quoted ^= text[end] == '"'
        end += 2 if text[end] == "\\" else 1
    return text[:end], text[end : end + 1], text[end + 1 :]


def _keys(path: str) -> tuple[Key, ...]:
    """None at all for what is no path."""
    keys: list[Key] = []
    place = len(_ROOT) if path.startswith(_ROOT) else len(path) + 1
    while place < len(path):
        found = _KEY.match(path, place)
        if found is None:
            return ()
        keys.append(_unquoted(found[1]) if found[1] is not None else found[2])
        place = found.end()
    return tuple(keys)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _values(words: str) -> tuple[Any, ...]:
    try:
        value = json.loads(words, parse_constant=lambda _: words)
    except ValueError:
        return (words,)
    if isinstance(value, str):
        return (value,)
    told = value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))
    return (value, words) if told else (words,)
