"""What an unquoted YAML scalar means: what it means in JSON, and otherwise it is text.

So `yes`, `on`, `2024-01-01`, `12:30`, `010`, `0x10`, `1_000` and `+49` are text, as their authors wrote them.
"""

from __future__ import annotations

import math
import re

from orchestrator.domain.loading.faults import MAX_DIGITS

_WORDS: dict[str, bool | None] = {"": None, "~": None}
_WORDS |= {
    form: value
    for word, value in (("null", None), ("true", True), ("false", False))
    for form in (word, word.capitalize(), word.upper())
}
_INT = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def resolve(text: str) -> str | int | float | bool | None:
    """The value of a plain scalar. Raises `ValueError` for a number that cannot be held."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if not (first.isdigit() or first in "-+."):
        return text
    if _INT.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise ValueError(f"a number has more than {MAX_DIGITS} digits")
        return int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise ValueError(f"'{text[:40]}' is larger than any number that can be held")
        return value
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"'{text}' is not a number that JSON can hold")
    return text
