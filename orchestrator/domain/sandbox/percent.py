"""`'%05d' % n` and the filter `format`: Python's %-formatting with small widths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.domain.sandbox.meter import Meter
from orchestrator.domain.sandbox.missing import refuse_missing
from orchestrator.domain.sandbox.plain import checked_int, text_of
from orchestrator.errors import ExpressionError

_WIDEST = 1000  # characters of a width or precision
_SPEC = re.compile(r"%(?:\([^()]*\))?[-#0 +]*([0-9]*)(?:\.([0-9]*))?[hlL]?(.?)", re.DOTALL)
_CONVERSIONS = frozenset("diouxXeEfFgGcs%")
_LONGEST_FLOAT = 310  # digits before the point


def percent(meter: Meter, form: str, values: Any) -> str:
    """`form % values`; a list gives positional values, a map named ones. Widths end at 1000."""
    meter.touch(form)
    fields, widest = _fields(form)
    if isinstance(values, Mapping):
        given: Any = {key: _shown(value, meter) for key, value in values.items()}
        shown = list(given.values())
    else:
        shown = [_shown(value, meter) for value in (values if isinstance(values, list | tuple) else [values])]
        given = tuple(shown)
    longest = max(map(_length, shown), default=0)
    meter.text(len(form) + fields * (longest + widest))
    return str(form % given)


def _fields(form: str) -> tuple[int, int]:
    """How many values `form` shows, and the widest width plus precision among them."""
    widest = fields = 0
    for width, precision, conversion in _SPEC.findall(form):
        # A key with brackets, `*`, %r and %a end here too: what they would make cannot be told beforehand.
        if conversion not in _CONVERSIONS or not conversion:
            raise ExpressionError(f"'%{conversion}' is not a '%' format known here; use %s, %d, %f, %x, ... or %%")
        if max(len(width), len(precision)) > 4 or max(int(width or 0), int(precision or 0)) > _WIDEST:
            raise ExpressionError(f"a width in a '%' format may be at most {_WIDEST}")
        widest = max(widest, int(width or 0) + int(precision or 0))
        fields += 1
    return fields, widest


def _shown(value: Any, meter: Meter) -> Any:
    refuse_missing((value,))
    if type(value) is int:
        return checked_int(value)
    return value if type(value) in (float, bool) else text_of(value, meter)


def _length(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return value.bit_length() // 3 + 3 if isinstance(value, int) else _LONGEST_FLOAT
