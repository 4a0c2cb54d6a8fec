"""How a document that cannot be read is refused: with its line and column."""

from __future__ import annotations

import re

from orchestrator.errors import InvalidDefinition, Problem

HEADLINE = "the document cannot be read"
# What Postgres cannot store in a text, and UTF-8 cannot write.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
MAX_DIGITS = 300


def refused(
    message: str, *, line: int = 0, column: int = 0, path: str = "", hint: str | None = None
) -> InvalidDefinition:
    """The error to raise. `line` and `column` count from 1; without a line the message is about all of it."""
    where = f"line {line}, column {column}: " if line else ""
    return InvalidDefinition([Problem(path, where + message, hint)], HEADLINE)


def refused_at(text: str, offset: int, message: str, *, path: str = "", hint: str | None = None) -> InvalidDefinition:
    """The same, with the place as an offset into `text`."""
    line, column = place(text, offset)
    return refused(message, line=line, column=column, path=path, hint=hint)


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def too_deep(limit: int) -> str:
    return f"lists and maps are nested more than {limit} levels deep"


def unstorable(text: str) -> str | None:
    """Why a text cannot be stored, or None."""
    found = UNSTORABLE.search(text)
    if found is None:
        return None
    if found.group() == "\x00":
        return "a text holds the character NUL, which cannot be stored"
    return f"a text holds half of a surrogate pair (\\u{ord(found.group()):04x}), which is no character"
