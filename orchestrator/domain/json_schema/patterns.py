"""Regular expressions of JSON Schema: ECMA-262's as far as `regex` knows them, for one second at most."""

from __future__ import annotations

import re
from functools import lru_cache

import regex

from orchestrator.domain.json_schema.budget import TooCostly, spend
from orchestrator.domain.paths import quoted

_SECONDS = 1.0
# Escapes and character classes stay as they are; `$` ends the text in ECMA-262, also before a final line break.
_PIECE = re.compile(r"\\u\{([0-9a-fA-F]{1,6})\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", re.DOTALL)


def search(pattern: str, text: str) -> bool:
    """Whether the pattern is found anywhere in the text; raises `TooCostly`."""
    spend()
    try:
        return _compiled(pattern).search(text, timeout=_SECONDS) is not None
    except TimeoutError as error:
        raise TooCostly(f"the pattern {quoted(pattern)} takes too long on a text of {len(text)} characters") from error


def pattern_fault(pattern: str) -> str | None:
    """Why a pattern cannot be used, or None."""
    try:
        _compiled(pattern)
    except (regex.error, OverflowError, RecursionError, ValueError) as error:
        return str(error)
    return None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(_PIECE.sub(_translated, pattern))


def _translated(piece: re.Match[str]) -> str:
    if piece.group(1):
        return re.escape(chr(int(piece.group(1), 16)))
    return r"\Z" if piece.group() == "$" else piece.group()
