"""Keep secret values out of what is stored and shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

MASK = "***"
# A shorter value would be found in half of all texts; it is hidden where it is named, not where it is echoed.
_SHORTEST = 4


class Masker:
    """Replaces secret values wherever they are echoed, by `***`. Values under 4 characters are not searched for."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        values = {value for value in secrets if len(value) >= _SHORTEST}
        escaped = {json.dumps(value)[1:-1] for value in values} | {
            json.dumps(v, ensure_ascii=False)[1:-1] for v in values
        }
        self._plain = _pattern(values)
        self._json = _pattern(escaped | values)

    def __bool__(self) -> bool:
        return self._plain is not None

    def text(self, text: str) -> str:
        """`text` without the secrets."""
        return text if self._plain is None else self._plain.sub(MASK, text)

    def json(self, text: str) -> str:
        """JSON text without the secrets, escaped as JSON may escape them; still valid JSON."""
        return text if self._json is None else self._json.sub(MASK, text)


def _pattern(values: Iterable[str]) -> re.Pattern[str] | None:
    longest_first = sorted(values, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


NOTHING_SECRET = Masker()
