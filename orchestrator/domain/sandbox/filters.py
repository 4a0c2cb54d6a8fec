"""The filters and tests of the language: Jinja's, each charged for what it reads and makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import tests

from orchestrator.domain.sandbox import rules
from orchestrator.domain.sandbox.jmes import jmespath
from orchestrator.domain.sandbox.meter import ITEM, shallow
from orchestrator.domain.sandbox.methods import replaced
from orchestrator.domain.sandbox.missing import Missing, refuse_missing, similar
from orchestrator.domain.sandbox.operators import BINARY, compare
from orchestrator.domain.sandbox.percent import percent
from orchestrator.domain.sandbox.plain import text_of
from orchestrator.domain.sandbox.rules import JINJA, Evaluation, Rule
from orchestrator.domain.sandbox.words import arguments_told, brief
from orchestrator.errors import ExpressionError

_TAKE_MISSING = frozenset({"default", "d", "defined", "undefined"})
_SETTLED = frozenset({list, dict, int, float, bool, type(None)})
_LEFT_OUT = frozenset({"attr", "pprint", "safe", "urlize", "xmlattr"})


def call_filter(ev: Evaluation, name: Any, value: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`value | name(*args, **kwargs)`. What comes back is JSON-like: no iterators, no `Markup`."""
    rule = FILTERS.get(name) if isinstance(name, str) else None
    if rule is None:
        raise ExpressionError(unknown("filter", name))
    _charge(ev, name, value, args, kwargs)
    try:
        result = rule(ev, value, *args, **kwargs)
    except TypeError as error:
        raise arguments_told(f"the filter '{name}'", error) from error
    return result if type(result) in _SETTLED else _settled(ev, result)


def call_test(ev: Evaluation, name: Any, value: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """`value is name(*args, **kwargs)`."""
    rule = TESTS.get(name) if isinstance(name, str) else None
    if rule is None:
        raise ExpressionError(unknown("test", name))
    _charge(ev, name, value, args, kwargs)
    try:
        return bool(rule(ev, value, *args, **kwargs))
    except TypeError as error:
        raise arguments_told(f"the test '{name}'", error) from error


def unknown(what: str, name: Any) -> str:
    """Say that there is no such filter or test."""
    known = FILTERS if what == "filter" else TESTS
    if name in _LEFT_OUT:
        return f"the {what} '{name}' of Jinja's is not available here"
    return f"there is no {what} '{name!s:.60}'{similar(name, known)}"


def _charge(ev: Evaluation, name: str, value: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    given = (value, *args, *kwargs.values()) if args or kwargs else (value,)
    if name not in _TAKE_MISSING:
        refuse_missing(given)
    ev.meter.spend(sum(map(shallow, given)))


def _settled(ev: Evaluation, result: Any) -> Any:
    if isinstance(result, str):  # a text made here, or Jinja's `Markup`
        ev.meter.touch(result)
        return str.__str__(result)
    return _collected(ev, result) if isinstance(result, Iterator) else result


def _collected(ev: Evaluation, items: Iterator[Any]) -> list[Any]:
    found = []
    for item in items:
        ev.meter.spend(ITEM)
        found.append(item)
    return found


def _same(name: str) -> Rule:
    """Jinja's own, on one value of any kind."""
    function = JINJA[name]
    return lambda ev, value, *args, **kwargs: function(value, *args, **kwargs)


def _text(name: str) -> Rule:
    """Jinja's own, on the text of a value."""
    function = JINJA[name]

    def rule(ev: Evaluation, value: Any, *args: Any, **kwargs: Any) -> Any:
        text = text_of(value, ev.meter)
        ev.meter.text(len(text))
        return function(text, *args, **kwargs)

    return rule


def _elements(name: str) -> Rule:
    """Jinja's own that calls a filter or a test for each element."""
    function = JINJA[name]

    def rule(ev: Evaluation, value: Any, *args: Any, **kwargs: Any) -> Any:
        rules.getter(ev, kwargs.get("attribute"))
        if name.endswith("attr") and args:
            rules.getter(ev, args[0])
        return function(ev, rules.listed(ev, value), *args, **kwargs)

    return rule


def _center(ev: Evaluation, value: Any, width: int = 80) -> str:
    text = text_of(value, ev.meter)
    ev.meter.text(max(len(text), width))
    return text.center(width)


def _indent(ev: Evaluation, value: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> Any:
    text = text_of(value, ev.meter)
    each = len(width) if isinstance(width, str) else width
    ev.meter.text(len(text) + (len(text.splitlines()) + 1) * (max(each, 0) + 1))
    return JINJA["indent"](text, width, first, blank)


def _truncate(ev: Evaluation, value: Any, *args: Any, **kwargs: Any) -> Any:
    return JINJA["truncate"](ev.environment, text_of(value, ev.meter), *args, **kwargs)


def _wordwrap(
    ev: Evaluation,
    value: Any,
    width: int = 79,
    break_long_words: bool = True,
    wrapstring: str = "\n",
    break_on_hyphens: bool = True,
) -> Any:
    text = rules.flow(ev, value)
    ev.meter.text(len(text) * (1 + len(wrapstring)))
    return JINJA["wordwrap"](ev.environment, text, width, break_long_words, wrapstring, break_on_hyphens)


def _urlencode(ev: Evaluation, value: Any) -> Any:
    ev.meter.weigh(value)
    return JINJA["urlencode"](value)


def _replace(ev: Evaluation, value: Any, old: Any, new: Any, count: int | None = None) -> str:
    return replaced(ev.meter, text_of(value, ev.meter), text_of(old, ev.meter), text_of(new, ev.meter), count)


def _dictsort(ev: Evaluation, value: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError("'dictsort' takes a map")
    ev.meter.weigh(value)
    ev.meter.spend(3 * ITEM * len(value))
    return [list(pair) for pair in JINJA["dictsort"](value, *args, **kwargs)]


def _items(ev: Evaluation, value: Any) -> list[list[Any]]:
    if not isinstance(value, Mapping):
        raise TypeError("'items' takes a map")
    ev.meter.spend(3 * ITEM * len(value))
    return [[key, item] for key, item in value.items()]


def _reverse(ev: Evaluation, value: Any) -> Any:
    return value[::-1] if isinstance(value, str) else rules.listed(ev, value)[::-1]


def _end(name: str, place: int) -> Rule:
    def rule(ev: Evaluation, value: Any) -> Any:
        items = list(value) if isinstance(value, Mapping) else value
        if not isinstance(items, list | tuple | str):
            raise TypeError(f"'{name}' takes a list, not {brief(value)}")
        return items[place] if items else Missing(f"there is no {name} item: the list is empty")

    return rule


FILTERS: dict[str, Rule] = (
    {name: _same(name) for name in ("abs", "default", "filesizeformat", "float", "length")}
    | {name: _text(name) for name in ("capitalize", "escape", "lower", "title", "trim", "upper", "wordcount")}
    | {name: _elements(name) for name in ("map", "reject", "rejectattr", "select", "selectattr")}
    | {
        "batch": rules.in_rows,
        "center": _center,
        "dictsort": _dictsort,
        "first": _end("first", 0),
        "format": lambda ev, value, *args, **kwargs: percent(ev.meter, text_of(value, ev.meter), kwargs or args),
        "fromjson": lambda ev, value: rules.from_json(ev.meter, value),
        "groupby": rules.group,
        "indent": _indent,
        "int": rules.whole,
        "items": _items,
        "jmespath": lambda ev, value, query: jmespath(ev.meter, value, query),
        "join": rules.join,
        "last": _end("last", -1),
        "list": rules.listed,
        "max": rules.largest,
        "min": rules.smallest,
        "random": lambda ev, value: JINJA["random"](ev, rules.listed(ev, value)),
        "replace": _replace,
        "reverse": _reverse,
        "round": rules.rounded,
        "slice": rules.in_columns,
        "sort": rules.sort,
        "string": lambda ev, value: text_of(value, ev.meter),
        "striptags": lambda ev, value: JINJA["striptags"](rules.flow(ev, value)),
        "sum": rules.total,
        "tojson": rules.to_json,
        "truncate": _truncate,
        "unique": rules.unique,
        "urlencode": _urlencode,
        "wordwrap": _wordwrap,
    }
)
FILTERS |= {"count": FILTERS["length"], "d": FILTERS["default"], "e": FILTERS["escape"]}
FILTERS["forceescape"] = FILTERS["escape"]

Test = Callable[..., Any]
_JINJA_TESTS: dict[str, Any] = dict(tests.TESTS)


def _plain_test(name: str) -> Test:
    function = _JINJA_TESTS[name]
    return lambda ev, value, *args: function(value, *args)


def _text_test(name: str) -> Test:
    function = _JINJA_TESTS[name]
    return lambda ev, value: function(text_of(value, ev.meter))


def _comparison(name: str) -> Test:
    return lambda ev, value, other: compare(ev.meter, name, value, other)


def _divisible(ev: Evaluation, value: Any, by: Any = 2) -> bool:
    """Jinja's own would format a text that has a `%` in it."""
    if isinstance(value, str):
        raise TypeError("text cannot be divided")
    return bool(BINARY["%"](ev.meter, value, by) == 0)


_COMPARISONS = {
    "eq": "eq equalto ==",
    "ne": "ne !=",
    "gt": "gt greaterthan >",
    "gteq": "ge >=",
    "lt": "lt lessthan <",
    "lteq": "le <=",
    "in": "in",
}
_PLAIN_TESTS = "boolean defined false float integer iterable mapping none number sameas sequence string true undefined"
TESTS: dict[str, Test] = (
    {name: _plain_test(name) for name in _PLAIN_TESTS.split()}
    | {name: _text_test(name) for name in ("lower", "upper")}
    | {word: _comparison(name) for name, words in _COMPARISONS.items() for word in words.split()}
    | {
        "divisibleby": _divisible,
        "even": lambda ev, value: _divisible(ev, value),
        "odd": lambda ev, value: not _divisible(ev, value),
        "filter": lambda ev, value: value in FILTERS,
        "test": lambda ev, value: value in TESTS,
    }
)
