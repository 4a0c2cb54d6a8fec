"""One page of a list, and the cursor to the next."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row

from orchestrator.errors import InvalidInput, Problem
from orchestrator.ids import is_id


@dataclass(frozen=True, slots=True)
class Page:
    """`next` is the cursor to hand in as `after` for what follows; None at the end."""

    items: list[dict[str, Any]]
    next: str | None = None


def page_of(
    rows: Sequence[Row[Any]], limit: int, shape: Callable[[Row[Any]], dict[str, Any]], cursor: Callable[[Row[Any]], str]
) -> Page:
    """A page of at most `limit` of the rows; one row more than that says there is a next page."""
    shown = rows[:limit]
    return Page([shape(row) for row in shown], cursor(shown[-1]) if len(rows) > limit else None)


def iso(at: datetime | None) -> str | None:
    """ISO 8601 in UTC: `2026-11-29T17:00:00.000000+00:00`."""
    return at.astimezone(UTC).isoformat(timespec="microseconds") if at else None


def id_cursor(text: str | None) -> str | None:
    """A cursor that is an id; raises `InvalidInput`."""
    if text is not None and not is_id(text):
        raise InvalidInput([Problem("after", "is not a cursor of this list")])
    return text


def number_cursor(text: str | int | None) -> int | None:
    """A cursor that is a number; raises `InvalidInput`."""
    if text is None or isinstance(text, int):
        return text
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise InvalidInput([Problem("after", "is not a cursor of this list")])
    return int(text)


def pack_cursor(*parts: str) -> str:
    """A cursor of several texts, safe in a URL."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def unpack_cursor(text: str, count: int) -> list[str]:
    """The texts of a packed cursor; raises `InvalidInput`."""
    try:
        parts = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        parts = None
    if not isinstance(parts, list) or len(parts) != count or not all(map(_is_text, parts)):
        raise InvalidInput([Problem("after", "is not a cursor of this list")])
    return parts


def _is_text(part: Any) -> bool:
    """Whether it is text that Postgres can compare with."""
    return isinstance(part, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in part)
