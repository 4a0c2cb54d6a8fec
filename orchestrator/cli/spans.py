"""Lengths of time as people write them: 5s, 30min, 12h, 90d, 8w."""

from __future__ import annotations

import re
from typing import Any

import click

from orchestrator.cli.text import clean

_SPAN = re.compile(r"(\d{1,9})(s|min|m|h|d|w)", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,9}")
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}


def read_span(text: str) -> int | None:
    """In seconds; None for what is no number with a unit."""
    found = _SPAN.fullmatch(text)
    return int(found[1]) * _UNITS[found[2].lower()] if found else None


class Span(click.ParamType[int]):
    """A length of time, in seconds. `plain`: a number without a unit is one of seconds."""

    name = "time"

    def __init__(self, *, plain: bool = False) -> None:
        self._plain = plain

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if self._plain and _NUMBER.fullmatch(str(value)):
            return int(value)
        found = read_span(str(value))
        if found is None:
            hint = "90, 5s, 30min, 12h or 7d" if self._plain else "30min, 12h, 30d or 8w"
            self.fail(f"'{clean(str(value))}' is not a length of time: give {hint}")
        return found


SPAN, SECONDS = Span(), Span(plain=True)
