"""Where the expressions of a text are: between `<% %>` (YAQL) and `{{ }}` (Jinja)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_OPEN = re.compile(r"<%|{{")
_CLOSE = {"<%": "%>", "{{": "}}"}
# What stands in quotes does not end an expression.
_STEPS = {
    mark: re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|""" + close, re.DOTALL) for mark, close in _CLOSE.items()
}


@dataclass(frozen=True, slots=True)
class Marked:
    """An expression within a text: `source` without its marks, `text` with them."""

    source: str
    text: str


def parts(text: str) -> Iterator[str | Marked]:
    """The text in order: what stands between expressions, and these. Takes time in proportion to its length."""
    at = start = 0
    unclosed: set[str] = set()
    while (found := _OPEN.search(text, at)) is not None:
        end = None if found.group() in unclosed else _end(text, found)
        if end is None:
            unclosed.add(found.group())
            at = found.end()
            continue
        if found.start() > start:
            yield text[start : found.start()]
        yield Marked(text[found.end() : end - 2].strip(), text[found.start() : end])
        at = start = end
    if start < len(text):
        yield text[start:]


def _end(text: str, opened: re.Match[str]) -> int | None:
    close = _CLOSE[opened.group()]
    for step in _STEPS[opened.group()].finditer(text, opened.end()):
        if step.group() == close:
            return step.end()
    return None


def whole(text: str) -> str | None:
    """The expression that a text is, without its marks; None for any other text."""
    found = list(parts(text.strip()))
    return found[0].source if len(found) == 1 and isinstance(found[0], Marked) else None


def has_expression(value: Any) -> bool:
    """Whether there is an expression in the value, at any depth."""
    if isinstance(value, str):
        return any(isinstance(part, Marked) for part in parts(value))
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(map(has_expression, inner))
