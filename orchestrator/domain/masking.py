"""Keep secret values out of what is stored and shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MASK = "***"
# A shorter value would be found in half of all texts; it is hidden where it is named, not where it is echoed.
_SHORTEST = 4
_QUOTED = frozenset("\\\"'")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Masker:
    """Replaces secret values wherever they are echoed, by `***`. Values under 4 characters are not searched for.

    Echoed is also what `repr` and JSON make of a value: an error's message often quotes so.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = {value for value in secrets if len(value) >= _SHORTEST}
        longest_first = sorted({form for value in values for form in _forms(value)}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self._numbers = frozenset(_numbers(values))

    def __bool__(self) -> bool:
        return self._pattern is not None

    def text(self, text: str) -> str:
        """`text` without the secrets."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def value(self, value: Any) -> Any:
        """A JSON value without the secrets in its texts and keys, and without numbers that are secrets."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return self._map(value)
        if isinstance(value, list):
            return [self.value(part) for part in value]
        return MASK if value in self._numbers and not isinstance(value, bool) else value

    def json(self, text: str) -> str:
        """The same for the text of a JSON value."""
        return text if self._pattern is None else _encode(self.value(json.loads(text)))

    def _map(self, value: Mapping[str, Any]) -> dict[str, Any]:
        masked: dict[str, Any] = {}
        for key, part in value.items():
            name = self.text(key)
            while name in masked:  # two keys may differ in their secrets only
                name += "*"
            masked[name] = self.value(part)
        return masked


def _forms(secret: str) -> Iterator[str]:
    """The secret as it is, and as it stands in a quoted text."""
    yield secret
    if secret.isascii() and secret.isprintable() and _QUOTED.isdisjoint(secret):
        return  # all forms are the same
    yield repr(secret)[1:-1]
    yield repr(f"\"'{secret}")[4:-1]  # where the text around it has quotes of both kinds
    yield ascii(secret)[1:-1]
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret.encode(errors="surrogatepass"))[2:-1]


def _numbers(secrets: Iterable[str]) -> Iterator[float]:
    """The numbers that secrets say, as a template may have made them of the texts: `secrets.port | int`."""
    for text in secrets:
        for number in (int, float):
            try:
                said = number(text)
            except ValueError:
                continue
            if len(str(said)) >= _SHORTEST:
                yield said


NOTHING_SECRET = Masker()
