"""Functions and methods of YAQL and StackStorm's Jinja as filters and operators of ours."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.convert.syntax import (
    Args,
    Binary,
    Call,
    Choice,
    Const,
    Filter,
    Many,
    Name,
    Node,
    Pairs,
    Part,
    Test,
    Untranslatable,
)
from orchestrator.domain.sandbox.filters import FILTERS, TESTS

Rewrite = Callable[[Node], Node]

# Functions and methods with one value that are a filter here.
_ONE = {
    "len": "length",
    "count": "length",
    "length": "length",
    "str": "string",
    "int": "int",
    "float": "float",
    "abs": "abs",
    "round": "round",
    "max": "max",
    "min": "min",
    "sum": "sum",
    "first": "first",
    "last": "last",
    "toLower": "lower",
    "toUpper": "upper",
    "lower": "lower",
    "upper": "upper",
    "trim": "trim",
    "strip": "trim",
    "title": "title",
    "capitalize": "capitalize",
    "reverse": "reverse",
    "distinct": "unique",
    "orderBy": "sort",
}
_JSON = {
    **dict.fromkeys(("from_json_string", "json_parse", "parse_json", "from_json", "fromjson"), "fromjson"),
    **dict.fromkeys(("to_json_string", "json_dump", "to_json", "tojson"), "tojson"),
}
# Filters of StackStorm's Jinja that are functions here.
FILTERED = frozenset({*_JSON, "use_none", "toLower", "toUpper", "len"})
_METHODS = frozenset({"get", "keys", "values", "items", "replace"})


def translated_call(node: Call, rewrite: Rewrite) -> Node:
    """A call in our words; raises `Untranslatable`."""
    args = tuple(map(rewrite, node.args))
    if isinstance(node.function, Name):
        return _function(node.function.name, args, tuple((k, rewrite(v)) for k, v in node.named))
    if isinstance(node.function, Part) and isinstance(node.function.key, Const):
        return _method(rewrite(node.function.whole), str(node.function.key.value), args)
    raise Untranslatable("only functions and methods can be called")


def known_filter(name: str) -> str:
    """The name of a filter that there is here too; raises `Untranslatable`."""
    if name not in FILTERS:
        raise Untranslatable(f"there is no filter '{name}'")
    return name


def known_test(name: str) -> str:
    if name not in TESTS:
        raise Untranslatable(f"there is no test '{name}'")
    return name


def _function(name: str, args: Args, named: tuple[tuple[str, Node], ...]) -> Node:
    if name == "dict":
        pairs = tuple(pair for arg in args if isinstance(arg, Pairs) for pair in arg.parts)
        return Pairs(pairs + tuple((Const(key), value) for key, value in named))
    if named:
        raise Untranslatable(f"'{name}' with named arguments")
    if name in _JSON and len(args) == 1:
        return Call(Name(_JSON[name]), args)
    if name in _ONE and len(args) == 1:
        return Filter(args[0], _ONE[name])
    return _special(name, args)


def _special(name: str, args: Args) -> Node:
    if name == "list":
        return Many(args)
    if name == "bool" and len(args) == 1:
        return Choice(Const(True), args[0], Const(False))
    if name == "coalesce" and args:
        return _coalesce(args)
    if name == "concat" and args:
        return _joined(args)
    if name == "use_none" and len(args) == 1:
        return args[0]
    if name in ("now", "range"):
        return Call(Name(name), args)
    raise Untranslatable(f"there is no function '{name}' here")


def _method(value: Node, name: str, args: Args) -> Node:
    if name in ("containsKey", "contains") and len(args) == 1:
        return Binary("in", args[0], value)
    if name == "join" and len(args) == 1:
        # YAQL takes both `list.join(',')` and `','.join(list)`.
        value, separator = (args[0], value) if isinstance(value, Const) else (value, args[0])
        return Filter(value, "join", (separator,))
    if name in _ONE and not args:
        return Filter(value, _ONE[name])
    if name in _METHODS:
        return Call(Part(value, Const(name)), args)
    raise Untranslatable(f"there is no method '{name}' here")


def _coalesce(args: Args) -> Node:
    node = args[-1]
    for arg in reversed(args[:-1]):
        node = Choice(arg, Test(arg, "none", negated=True), node)
    return node


def _joined(args: Args) -> Node:
    node = args[0]
    for arg in args[1:]:
        node = Binary("~", node, arg)
    return node
