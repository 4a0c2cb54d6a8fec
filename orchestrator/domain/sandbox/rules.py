"""Filters that are ours: those that take a list apart, and those Jinja's own version of which has no bound."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import log2
from typing import Any

from jinja2.filters import FILTERS, ignore_case, make_attrgetter

from orchestrator.domain.sandbox.lookup import Group
from orchestrator.domain.sandbox.meter import ITEM, MAX_RANGE, Meter
from orchestrator.domain.sandbox.missing import Missing, refuse_missing
from orchestrator.domain.sandbox.operators import BINARY
from orchestrator.domain.sandbox.plain import checked_int, json_text, text_of
from orchestrator.domain.sandbox.words import brief, kind
from orchestrator.errors import ExpressionError

JINJA: dict[str, Callable[..., Any]] = dict(FILTERS)
_LONGEST_ATTRIBUTE = 200
_LONGEST_FLOW = 1 << 16  # characters of a text that Jinja takes quadratic time over


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One rendering: what its templates see and may spend. Filters of Jinja's take it for their context."""

    scope: Mapping[str, Any]
    meter: Meter
    environment: Any


Rule = Callable[..., Any]


def listed(ev: Evaluation, value: Any) -> list[Any]:
    """The elements of `value` as a new list: of a map its keys, of a text its characters."""
    if not isinstance(value, list | tuple | str | Mapping):
        raise TypeError(f"it takes a list, not {kind(value)}")
    ev.meter.spend(ITEM * len(value))
    return list(value)


def getter(ev: Evaluation, attribute: Any) -> Callable[[Any], Any]:
    """Reads `attribute` (`'address.city'`, or an index) of an element; what is missing raises."""
    if isinstance(attribute, str) and len(attribute) > _LONGEST_ATTRIBUTE:
        raise ExpressionError(f"an attribute may have at most {_LONGEST_ATTRIBUTE} characters")
    get = make_attrgetter(ev.environment, attribute)

    def read(item: Any) -> Any:
        found = get(item)
        refuse_missing((found,))
        return found

    return read


def _keyed(ev: Evaluation, value: Any, attribute: Any, case_sensitive: bool) -> list[tuple[Any, Any]]:
    """Each element with what it is compared by."""
    getter(ev, attribute)
    names = attribute.split(",") if isinstance(attribute, str) else [attribute]
    gets = [getter(ev, int(name) if isinstance(name, str) and name.isdecimal() else name) for name in names]
    pairs = []
    for item in listed(ev, value):
        keys = tuple(get(item) if case_sensitive else ignore_case(get(item)) for get in gets)
        for key in keys:
            ev.meter.weigh(key)
        pairs.append((keys[0] if len(keys) == 1 else keys, item))
    return pairs


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def sort(
    ev: Evaluation, value: Any, reverse: bool = False, case_sensitive: bool = False, attribute: Any = None
) -> list[Any]:
    return [item for _, item in _sorted(ev, _keyed(ev, value, attribute, case_sensitive), reverse)]


def _sorted(ev: Evaluation, pairs: list[tuple[Any, Any]], reverse: bool = False) -> list[tuple[Any, Any]]:
    ev.meter.spend(int(len(pairs) * log2(len(pairs) + 1)))
    return sorted(pairs, key=_first, reverse=reverse)


def unique(ev: Evaluation, value: Any, case_sensitive: bool = False, attribute: Any = None) -> list[Any]:
    found: dict[Any, Any] = {}
    for key, item in _keyed(ev, value, attribute, case_sensitive):
        found.setdefault(key, item)
    return list(found.values())


def group(ev: Evaluation, value: Any, attribute: Any, default: Any = None, case_sensitive: bool = False) -> list[Group]:
    """Groups in the order of what they are grouped by; the first element of a group names it."""
    get = getter(ev, attribute) if default is None else make_attrgetter(ev.environment, attribute, default=default)
    items = [(get(item), item) for item in listed(ev, value)]
    for grouper, _ in items:
        ev.meter.weigh(grouper)
    pairs = [(grouper if case_sensitive else ignore_case(grouper), (grouper, item)) for grouper, item in items]
    runs = [[pair for _, pair in run] for _, run in groupby(_sorted(ev, pairs), key=_first)]
    return [Group((run[0][0], [item for _, item in run])) for run in runs]


def _extreme(choose: Callable[..., tuple[Any, Any]]) -> Rule:
    def rule(ev: Evaluation, value: Any, case_sensitive: bool = False, attribute: Any = None) -> Any:
        pairs = _keyed(ev, value, attribute, case_sensitive)
        return choose(pairs, key=_first)[1] if pairs else Missing("the list is empty")

    return rule


def total(ev: Evaluation, value: Any, attribute: Any = None, start: Any = 0) -> Any:
    get = getter(ev, attribute)
    for item in listed(ev, value):
        start = BINARY["+"](ev.meter, start, get(item))
    return start


def join(ev: Evaluation, value: Any, d: Any = "", attribute: Any = None) -> str:
    get = getter(ev, attribute)
    texts = [text_of(get(item), ev.meter) for item in listed(ev, value)]
    between = text_of(d, ev.meter)
    ev.meter.text(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def in_rows(ev: Evaluation, value: Any, linecount: int, fill_with: Any = None) -> Iterable[list[Any]]:
    ev.meter.items(_at_least_one(linecount) if fill_with is not None else 1)
    items = listed(ev, value)
    rows = [items[i : i + linecount] for i in range(0, len(items), linecount)]
    ev.meter.spend(ITEM * len(rows))
    if rows and fill_with is not None:
        rows[-1] += [fill_with] * (linecount - len(rows[-1]))
    return rows


def in_columns(ev: Evaluation, value: Any, slices: int, fill_with: Any = None) -> Iterable[list[Any]]:
    ev.meter.spend(2 * ITEM * _at_least_one(slices))
    items = listed(ev, value)
    size, longer = divmod(len(items), slices)
    columns, start = [], 0
    for index in range(slices):
        end = start + size + (index < longer)
        filler = [fill_with] if fill_with is not None and longer and index >= longer else []
        columns.append(items[start:end] + filler)
        start = end
    return columns


def _at_least_one(count: Any) -> int:
    if not isinstance(count, int) or not 1 <= count <= MAX_RANGE:
        raise ExpressionError(f"the count must be a whole number from 1 to {MAX_RANGE}")
    return count


def rounded(ev: Evaluation, value: Any, precision: int = 0, method: str = "common") -> Any:
    if not isinstance(value, int | float) or not isinstance(precision, int) or abs(precision) > 300:
        raise TypeError(f"'round' takes a number and a precision from -300 to 300, not {brief(value)}")
    return JINJA["round"](value, precision, method)


def whole(ev: Evaluation, value: Any, default: Any = 0, base: int = 10) -> Any:
    found = JINJA["int"](value, default, base)
    return checked_int(found) if isinstance(found, int) else found


def from_json(meter: Meter, text: Any) -> Any:
    """The value a JSON text says. Raises `ExpressionError` when it is not JSON."""
    if not isinstance(text, str):
        raise ExpressionError(f"'fromjson' takes a text, not {kind(text)}")
    meter.text(len(text))
    meter.spend(8 * len(text))
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise ExpressionError(f"'fromjson' was given a text that is not JSON: {error}") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def to_json(ev: Evaluation, value: Any, indent: int | None = None) -> str:
    return json_text(value, ev.meter, indent)


def flow(ev: Evaluation, value: Any) -> str:
    """`value` as a text short enough for what takes quadratic time."""
    text = text_of(value, ev.meter)
    if len(text) > _LONGEST_FLOW:
        raise ExpressionError(f"this filter takes a text of at most {_LONGEST_FLOW} characters")
    return text


smallest, largest = _extreme(min), _extreme(max)
