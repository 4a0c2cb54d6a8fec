"""How values are named in messages for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

_KINDS = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "text"}


def kind(value: Any) -> str:
    """What `value` is: `null`, `text`, `a list of 3 items`, ..."""
    if isinstance(value, list | tuple):
        return f"a list of {len(value)} item{'s' * (len(value) != 1)}"
    if isinstance(value, Mapping):
        return "a map"
    if isinstance(value, date):
        return "a time"
    return _KINDS.get(type(value), f"a {type(value).__name__}")


def brief(value: Any) -> str:
    """`kind` without the count."""
    return "a list" if isinstance(value, list | tuple) else kind(value)


def quote(text: str) -> str:
    """`text` in quotes, at most 120 characters of it."""
    return f"'{text[:117]}...'" if len(text) > 120 else f"'{text}'"


_CALL = re.compile(r"[\w.<>]+\(\) (got|takes|missing|argument)")


def arguments_told(what: str, error: TypeError) -> TypeError:
    """`error` without the names and counts of our own functions."""
    if _CALL.match(str(error)):
        return TypeError(f"{what} does not take these arguments")
    return error
