"""What an expression gave, as plain JSON values and as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from math import isfinite
from typing import Any

from orchestrator.domain.blobs import Blob
from orchestrator.domain.sandbox.meter import MAX_INT_BITS, MAX_TEXT, Meter
from orchestrator.domain.sandbox.missing import Missing, fail
from orchestrator.domain.sandbox.words import kind
from orchestrator.domain.values import MAX_DEPTH
from orchestrator.errors import ExpressionError

Charge = Callable[[int], None]


def plain(value: Any, charge: Charge, depth: int = 0) -> Any:
    """`value` as new plain JSON values, each charged for by the characters of its JSON text.

    Tuples become lists, dates and times ISO text. Raises `ExpressionError` for anything else JSON cannot hold.
    """
    if isinstance(value, str):
        charge(len(value) + 2)
        return value if type(value) is str else str.__str__(value)
    if isinstance(value, list | tuple):
        charge(2 + len(value))
        _check_depth(depth)
        return [plain(item, charge, depth + 1) for item in value]
    if isinstance(value, Mapping):
        charge(2 + 2 * len(value))
        if type(value) is Blob:  # an output as a whole, which need not be fetched to be passed on
            return value
        _check_depth(depth)
        return {_key(key, charge): plain(item, charge, depth + 1) for key, item in value.items()}
    return _scalar(value, charge)


def _scalar(value: Any, charge: Charge) -> Any:
    charge(4)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        charge(value.bit_length() // 3)
        return checked_int(value)
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Missing):
        fail(value)
    raise ExpressionError(f"its result is {kind(value)}, which JSON cannot hold")


def _key(key: Any, charge: Charge) -> str:
    if not isinstance(key, str):
        raise ExpressionError(f"its result has a map with the key {key!r:.60}; keys must be text")
    charge(len(key) + 2)
    return key


def _check_depth(depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise ExpressionError(f"its result is nested more than {MAX_DEPTH} levels deep")


def checked_int(value: int) -> int:
    """`value`, unless it has more digits than can be written down."""
    if value.bit_length() > MAX_INT_BITS:
        raise ExpressionError(f"it makes a number of more than {MAX_INT_BITS} bits")
    return value


def _finite(value: float) -> float:
    if not isfinite(value):
        raise ExpressionError(f"its result is {value}, which JSON cannot hold")
    return value


def text_of(value: Any, meter: Meter) -> str:
    """`value` as it stands in a text: text as it is, everything else as JSON (`true`, `null`, `[1, 2]`)."""
    if type(value) is str:
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if type(value) is int:
        return str(checked_int(value))
    return json_text(value, meter)


def json_text(value: Any, meter: Meter, indent: int | None = None) -> str:
    """The JSON text of `value`, charged as work. `indent` must be 0 to 8."""
    known = plain(value, meter.copy)
    if indent is None:
        text = json.dumps(known, ensure_ascii=False, allow_nan=False)
        meter.text(len(text))
        return text
    if not 0 <= indent <= 8:
        raise ExpressionError("`indent` must be 0 to 8")
    return _indented(known, meter, indent)


def _indented(value: Any, meter: Meter, indent: int) -> str:
    """Piece by piece: indentation can make the text many times larger than the value."""
    pieces: list[str] = []
    length = 0
    for piece in json.JSONEncoder(ensure_ascii=False, allow_nan=False, indent=indent).iterencode(value):
        pieces.append(piece)
        length += len(piece)
        if length > MAX_TEXT:
            break
    meter.text(length)
    return "".join(pieces)
