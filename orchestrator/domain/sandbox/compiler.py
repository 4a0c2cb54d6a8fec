"""Trees to functions. Each node becomes one closure over its parts' closures.

Jinja would generate Python source instead. Closures are made several times faster than Python compiles that, which
counts when every step of a large workflow has templates of its own; and they leave no operation to Python itself:
generated code compares, joins and slices natively, where no limit holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import nodes

from orchestrator.domain.sandbox.filters import call_filter, call_test
from orchestrator.domain.sandbox.functions import call_function
from orchestrator.domain.sandbox.lookup import part, slice_of
from orchestrator.domain.sandbox.methods import call_method
from orchestrator.domain.sandbox.missing import Missing, MissingName, refuse_missing
from orchestrator.domain.sandbox.operators import BINARY, affirm, compare, concat, negate
from orchestrator.domain.sandbox.rules import Evaluation
from orchestrator.domain.sandbox.syntax import path_text

Evaluate = Callable[[Evaluation], Any]


def build(node: nodes.Node) -> Evaluate:
    """The function that evaluates a checked tree."""
    return _BUILDERS[type(node)](node)


def _const(node: nodes.Const) -> Evaluate:
    value = node.value
    return lambda ev: value


def _name(node: nodes.Name) -> Evaluate:
    name = node.name

    def evaluate(ev: Evaluation) -> Any:
        try:
            return ev.scope[name]
        except KeyError:
            return MissingName(None, ev.scope, name)

    return evaluate


def _getattr(node: nodes.Getattr) -> Evaluate:
    owner, name, path = build(node.node), node.attr, path_text(node.node)

    def evaluate(ev: Evaluation) -> Any:
        value = owner(ev)
        if type(value) is dict and name in value:
            return value[name]
        return part(value, name, path)

    return evaluate


def _getitem(node: nodes.Getitem) -> Evaluate:
    owner, path = build(node.node), path_text(node.node)
    if isinstance(node.arg, nodes.Slice):
        bounds = [_optional(bound) for bound in (node.arg.start, node.arg.stop, node.arg.step)]
        return lambda ev: slice_of(ev.meter, owner(ev), slice(*(bound(ev) for bound in bounds)))
    key = build(node.arg)

    def evaluate(ev: Evaluation) -> Any:
        value, name = owner(ev), key(ev)
        refuse_missing((name,))
        return part(value, name, path)

    return evaluate


def _optional(node: nodes.Expr | None) -> Evaluate:
    return build(node) if node is not None else lambda ev: None


def _list(node: nodes.List | nodes.Tuple) -> Evaluate:
    items = [build(item) for item in node.items]
    return lambda ev: [item(ev) for item in items]


def _dict(node: nodes.Dict) -> Evaluate:
    pairs = [(build(pair.key), build(pair.value)) for pair in node.items]
    return lambda ev: {key(ev): value(ev) for key, value in pairs}


def _binary(node: nodes.BinExpr) -> Evaluate:
    compute, left, right = BINARY[node.operator], build(node.left), build(node.right)
    return lambda ev: compute(ev.meter, left(ev), right(ev))


def _and(node: nodes.And) -> Evaluate:
    left, right = build(node.left), build(node.right)
    return lambda ev: left(ev) and right(ev)


def _or(node: nodes.Or) -> Evaluate:
    left, right = build(node.left), build(node.right)
    return lambda ev: left(ev) or right(ev)


def _not(node: nodes.Not) -> Evaluate:
    inner = build(node.node)
    return lambda ev: not inner(ev)


def _neg(node: nodes.Neg) -> Evaluate:
    inner = build(node.node)
    return lambda ev: negate(inner(ev))


def _pos(node: nodes.Pos) -> Evaluate:
    inner = build(node.node)
    return lambda ev: affirm(inner(ev))


def _concat(node: nodes.Concat) -> Evaluate:
    parts = [build(item) for item in node.nodes]
    return lambda ev: concat(ev.meter, [item(ev) for item in parts])


def _compare(node: nodes.Compare) -> Evaluate:
    first = build(node.expr)
    rest = [(operand.op, build(operand.expr)) for operand in node.ops]

    def evaluate(ev: Evaluation) -> bool:
        left = first(ev)
        for name, operand in rest:
            right = operand(ev)
            if not compare(ev.meter, name, left, right):
                return False
            left = right
        return True

    return evaluate


def _condition(node: nodes.CondExpr) -> Evaluate:
    test, then = build(node.test), build(node.expr1)
    if node.expr2 is not None:
        other = build(node.expr2)
        return lambda ev: then(ev) if test(ev) else other(ev)
    hint = "its 'if' is false and there is no 'else'"
    return lambda ev: then(ev) if test(ev) else Missing(hint)


def _filter(node: nodes.Filter) -> Evaluate:
    name, value, arguments = node.name, build(_given(node.node)), _arguments(node)
    if arguments is None:
        return lambda ev: call_filter(ev, name, value(ev), [], {})
    given = arguments
    return lambda ev: call_filter(ev, name, value(ev), *given(ev))


def _given(node: nodes.Expr | None) -> nodes.Expr:
    # None only in a filter block, which is a statement.
    return node if node is not None else nodes.Const(None)


def _test(node: nodes.Test) -> Evaluate:
    name, value, arguments = node.name, build(node.node), _arguments(node)
    if arguments is None:
        return lambda ev: call_test(ev, name, value(ev), [], {})
    given = arguments
    return lambda ev: call_test(ev, name, value(ev), *given(ev))


def _call(node: nodes.Call) -> Evaluate:
    arguments = _arguments(node) or (lambda ev: ([], {}))
    target = node.node
    if isinstance(target, nodes.Getattr):
        owner, method = build(target.node), target.attr
        return lambda ev: call_method(ev.meter, owner(ev), method, *arguments(ev))
    name = target.name if isinstance(target, nodes.Name) else ""
    return lambda ev: call_function(ev, name, *arguments(ev))


Arguments = Callable[[Evaluation], tuple[list[Any], dict[str, Any]]]


def _arguments(node: nodes.Call | nodes.Filter | nodes.Test) -> Arguments | None:
    """What gives the arguments of a call, `*list` and `**map` included; None when there are none."""
    if not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs):
        return None
    fixed = [build(arg) for arg in node.args]
    named = [(str(pair.key), build(pair.value)) for pair in node.kwargs]
    more = build(node.dyn_args) if node.dyn_args is not None else None
    more_named = build(node.dyn_kwargs) if node.dyn_kwargs is not None else None

    def given(ev: Evaluation) -> tuple[list[Any], dict[str, Any]]:
        args = [arg(ev) for arg in fixed]
        kwargs = {key: value(ev) for key, value in named}
        if more is not None:
            args += more(ev)
        if more_named is not None:
            kwargs |= more_named(ev)
        return args, kwargs

    return given


_BUILDERS: dict[type[nodes.Node], Callable[[Any], Evaluate]] = {
    nodes.Const: _const,
    nodes.Name: _name,
    nodes.Getattr: _getattr,
    nodes.Getitem: _getitem,
    nodes.List: _list,
    nodes.Tuple: _list,
    nodes.Dict: _dict,
    nodes.And: _and,
    nodes.Or: _or,
    nodes.Not: _not,
    nodes.Neg: _neg,
    nodes.Pos: _pos,
    nodes.Concat: _concat,
    nodes.Compare: _compare,
    nodes.CondExpr: _condition,
    nodes.Filter: _filter,
    nodes.Test: _test,
    nodes.Call: _call,
}
_BUILDERS |= dict.fromkeys((nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow), _binary)
