"""Arithmetic, comparison and text operators, each charged before it is done."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from orchestrator.domain.sandbox.meter import ITEM, MAX_INT_BITS, Meter
from orchestrator.domain.sandbox.missing import refuse_missing
from orchestrator.domain.sandbox.percent import percent
from orchestrator.domain.sandbox.plain import checked_int, text_of
from orchestrator.domain.sandbox.words import brief
from orchestrator.errors import ExpressionError

Binary = Callable[[Meter, Any, Any], Any]

_NUMBERS = frozenset({int, float, bool})
_SCALARS = _NUMBERS | {str, type(None)}


def _plus(meter: Meter, left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        meter.text(len(left) + len(right))
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        meter.spend(ITEM * (len(left) + len(right)))
        return left + right
    return _number("+", operator.add, left, right)


def _times(meter: Meter, left: Any, right: Any) -> Any:
    if isinstance(left, int) and not isinstance(left, bool) and isinstance(right, str | list):
        left, right = right, left
    if isinstance(left, str | list) and isinstance(right, int) and not isinstance(right, bool):
        return _repeat(meter, left, right)
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())
    return _number("*", operator.mul, left, right)


def _repeat(meter: Meter, value: Any, count: int) -> Any:
    size = len(value) * max(count, 0)
    if isinstance(value, str):
        meter.text(size)
    else:
        meter.items(size)
    return value * count


def _power(meter: Meter, left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and right > 0:
        _check_bits(left.bit_length() * right if abs(left) > 1 else 1)
    result = _number("**", operator.pow, left, right)
    if isinstance(result, complex):
        raise ValueError("a root of a negative number is not a number")
    return result


def _remainder(meter: Meter, left: Any, right: Any) -> Any:
    if isinstance(left, str):
        return percent(meter, left, right)
    return _number("%", operator.mod, left, right)


def _arithmetic(symbol: str, compute: Callable[[Any, Any], Any]) -> Binary:
    return lambda meter, left, right: _number(symbol, compute, left, right)


def _number(symbol: str, compute: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if type(left) not in _NUMBERS or type(right) not in _NUMBERS:
        refuse_missing((left, right))
        raise TypeError(f"'{symbol}' does not work between {brief(left)} and {brief(right)}")
    result = compute(left, right)
    return checked_int(result) if type(result) is int else result


def _check_bits(bits: int) -> None:
    if bits > MAX_INT_BITS + 64:
        raise ExpressionError(f"it makes a number of more than {MAX_INT_BITS} bits")


BINARY: dict[str, Binary] = {
    "+": _plus,
    "-": _arithmetic("-", operator.sub),
    "*": _times,
    "/": _arithmetic("/", operator.truediv),
    "//": _arithmetic("//", operator.floordiv),
    "%": _remainder,
    "**": _power,
}


def negate(value: Any) -> Any:
    """`-value`, of a number."""
    return _number("-", operator.sub, 0, value) if type(value) is not float else -value


def affirm(value: Any) -> Any:
    """`+value`, of a number."""
    return _number("+", operator.add, 0, value)


COMPARE: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "eq": ("==", operator.eq),
    "ne": ("!=", operator.ne),
    "lt": ("<", operator.lt),
    "lteq": ("<=", operator.le),
    "gt": (">", operator.gt),
    "gteq": (">=", operator.ge),
    "in": ("in", lambda left, right: left in right),
    "notin": ("not in", lambda left, right: left not in right),
}


def compare(meter: Meter, name: str, left: Any, right: Any) -> bool:
    """One comparison, `name` as in `COMPARE`."""
    symbol, compute = COMPARE[name]
    refuse_missing((left, right))
    if type(left) not in _SCALARS or type(right) not in _SCALARS:
        meter.weigh(left)
        meter.weigh(right)
    elif type(left) is str and type(right) is str:
        meter.spend(len(left) + len(right))
    try:
        return bool(compute(left, right))
    except TypeError:
        raise TypeError(f"'{symbol}' does not work between {brief(left)} and {brief(right)}") from None


def concat(meter: Meter, values: list[Any]) -> str:
    """`a ~ b ~ c`."""
    texts = [text_of(value, meter) for value in values]
    meter.text(sum(map(len, texts)))
    return "".join(texts)
