"""Orquesta's short forms: `core.echo message="hello" times=3`, `a=1 b=<% result() %>`, lists of names and values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from orchestrator.convert.marks import Marked, parts
from orchestrator.convert.report import Place, Report

_KEY = re.compile(r"\s*,?\s*([\w.-]+)=")
_REST = re.compile(r"[\s,]*\Z")
_VALUE = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*+)"|'((?:[^'\\]|\\.)*+)'|(\S*))""", re.DOTALL)
_HOLE = "\x01"


def pairs_of(text: str) -> list[tuple[str, Any]] | None:
    """`a=1 b="x"` as names and values; None if it is something else."""
    kept: list[str] = []
    flat = "".join(part if isinstance(part, str) else _kept(part, kept) for part in parts(text))
    found, at = [], 0
    while _REST.match(flat, at) is None:
        key = _KEY.match(flat, at)
        if key is None:
            return None
        value = _VALUE.match(flat, key.end())
        if value is None:
            return None
        found.append((key.group(1), _value(value, kept)))
        at = value.end()
    return found


def _kept(part: Marked, kept: list[str]) -> str:
    """Expressions may hold blanks and quotes: they are put aside."""
    kept.append(part.text)
    return f"{_HOLE}{len(kept) - 1}{_HOLE}"


def _value(found: re.Match[str], kept: list[str]) -> Any:
    quoted = found.group(1) if found.group(1) is not None else found.group(2)
    text = quoted if quoted is not None else found.group(3)
    whole = re.sub(f"{_HOLE}(\\d+){_HOLE}", lambda hole: kept[int(hole.group(1))], text)
    return whole if quoted is not None or whole != text else _plain(text)


def _plain(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, dict | list) else value


def named_values(value: Any, place: Place, report: Report, step: str | None = None) -> list[tuple[str, Any]]:
    """A map, a list of maps, or short text, as names and values in order; what is neither is reported."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, str) and (found := pairs_of(value)) is not None:
        return found
    if isinstance(value, list) and all(isinstance(part, Mapping) for part in value):
        return [pair for part in value for pair in part.items()]
    if value is not None:
        report.lost(place, "is not a map of names and values", step=step)
    return []


def names_of(value: Any, place: Place, report: Report, step: str | None = None) -> tuple[str, ...]:
    """`a, b`, or a list of names."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return tuple(name for name in value if name)
    if value is not None:
        report.lost(place, "is not a name or a list of names", step=step)
    return ()
