"""The methods of text, maps and lists that a call `value.name(...)` may use. None of them changes anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.domain.sandbox.meter import ITEM, Meter
from orchestrator.domain.sandbox.missing import Missing, fail, refuse_missing, similar
from orchestrator.domain.sandbox.words import arguments_told, brief
from orchestrator.errors import ExpressionError

Method = Callable[..., Any]


def call_method(meter: Meter, value: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`value.name(*args, **kwargs)`. Raises `ExpressionError` for a method that is not in the tables below."""
    if isinstance(value, Missing):
        fail(value)
    refuse_missing((*args, *kwargs.values()))
    table = _table(value)
    method = table.get(name)
    if method is None:
        raise ExpressionError(_no_method(value, name, table))
    meter.touch(value)
    try:
        return method(meter, value, *args, **kwargs)
    except TypeError as error:
        raise arguments_told(f"the method '{name}'", error) from error


def _table(value: Any) -> Mapping[str, Method]:
    if isinstance(value, str):
        return TEXT
    if isinstance(value, Mapping):
        return MAP
    return LIST if isinstance(value, list | tuple) else {}


def _no_method(value: Any, name: str, table: Mapping[str, Method]) -> str:
    hint = similar(name, table)
    if name in ("format", "format_map"):
        hint = " (write '%s' % value, or the filter `format`)"
    elif name in _CHANGES:
        hint = " (values cannot be changed; join them with + or the filters)"
    return f"{brief(value)} has no method '{name[:60]}' here{hint}"


_CHANGES = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "sort", "reverse"}
)


def _simple(name: str) -> Method:
    """A text method whose result is never larger than the text and its arguments."""
    bound = getattr(str, name)

    def method(meter: Meter, text: str, *args: Any, **kwargs: Any) -> Any:
        for arg in args:
            meter.touch(arg)
        result = bound(text, *args, **kwargs)
        return list(result) if isinstance(result, tuple) else result

    return method


def _splitting(name: str) -> Method:
    simple = _simple(name)

    def method(meter: Meter, text: str, *args: Any, **kwargs: Any) -> Any:
        result = simple(meter, text, *args, **kwargs)
        meter.spend(ITEM * len(result))
        return result

    return method


def _padding(name: str) -> Method:
    bound = getattr(str, name)

    def method(meter: Meter, text: str, width: int, *fill: str) -> Any:
        meter.text(max(len(text), width))
        return bound(text, width, *fill)

    return method


def replaced(meter: Meter, text: str, old: str, new: str, count: int | None = None) -> str:
    """`text` with `old` replaced by `new`, at most `count` times."""
    limit = -1 if count is None else count
    found = text.count(old) if limit < 0 else min(text.count(old), limit)
    meter.text(max(len(text) + found * (len(new) - len(old)), 0))
    return text.replace(old, new, limit)


def _joined(meter: Meter, text: str, parts: list[str]) -> str:
    if not isinstance(parts, list | tuple):
        raise TypeError(f"'join' takes a list, not {brief(parts)}")
    refuse_missing(parts)
    meter.text(sum(map(len, parts)) + len(text) * len(parts))
    return text.join(parts)


def _get(meter: Meter, value: Mapping[str, Any], key: Any, default: Any = None) -> Any:
    return value.get(key, default)


def _listed(take: Callable[[Mapping[str, Any]], list[Any]]) -> Method:
    def method(meter: Meter, value: Mapping[str, Any]) -> list[Any]:
        meter.spend(3 * ITEM * len(value))
        return take(value)

    return method


def _searching(name: str) -> Method:
    bound = getattr(list, name)

    def method(meter: Meter, value: list[Any], wanted: Any) -> Any:
        refuse_missing(value)
        meter.weigh(value)
        return bound(list(value), wanted)

    return method


_SIMPLE = (
    "capitalize casefold count endswith find index isalnum isalpha isascii isdecimal isdigit isidentifier islower"
    " isnumeric isprintable isspace istitle isupper lower lstrip partition removeprefix removesuffix rfind rindex"
    " rpartition rstrip startswith strip swapcase title upper"
)
TEXT: dict[str, Method] = (
    {name: _simple(name) for name in _SIMPLE.split()}
    | {name: _splitting(name) for name in ("split", "rsplit", "splitlines")}
    | {name: _padding(name) for name in ("ljust", "rjust", "center", "zfill")}
    | {"replace": replaced, "join": _joined}
)
MAP: dict[str, Method] = {
    "items": _listed(lambda value: [[key, item] for key, item in value.items()]),
    "keys": _listed(list),
    "values": _listed(lambda value: list(value.values())),
    "get": _get,
}
LIST: dict[str, Method] = {"index": _searching("index"), "count": _searching("count")}
