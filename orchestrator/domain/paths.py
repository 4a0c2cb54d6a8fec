"""Where a part of a document is: `steps[2].retry.delay`, `vars['a.b']`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_PLAIN = re.compile(r"\$?[^\W\d][\w-]*")
_SHOWN = 80


def child(path: str, key: str | int) -> str:
    """The path of the part `key` of what is at `path`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN.fullmatch(key):
        return f"{path}[{quoted(key)}]"
    return f"{path}.{key}" if path else key


def join(keys: Iterable[str | int], path: str = "") -> str:
    """The path that follows `keys` from `path` on."""
    for key in keys:
        path = child(path, key)
    return path


def quoted(text: str) -> str:
    """`text` in quotes on one line, at most 80 characters of it."""
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    escaped = shown.encode("unicode_escape").decode() if not shown.isprintable() else shown
    return "'" + escaped.replace("'", "\\'") + "'"


def follow(document: Any, keys: Iterable[str | int]) -> Any:
    """The part of `document` that `keys` lead to; None when there is none."""
    for key in keys:
        if isinstance(document, dict):
            document = document.get(key)
        elif isinstance(document, list) and isinstance(key, int) and key < len(document):
            document = document[key]
        else:
            return None
    return document
