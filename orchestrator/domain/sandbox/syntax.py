"""Text to trees: where expressions lie in a text, what one may hold, and which names it uses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError

from orchestrator.domain.sandbox.environment import parse
from orchestrator.domain.sandbox.filters import FILTERS, TESTS, unknown
from orchestrator.domain.sandbox.functions import FUNCTIONS, unknown_function
from orchestrator.domain.sandbox.missing import joined
from orchestrator.domain.sandbox.shortcut import shortcut
from orchestrator.errors import ExpressionError

MAX_SOURCE = 1 << 15  # characters of one expression
_MAX_BRACKETS = 32  # brackets within brackets: Jinja's parser takes some 14 calls for each
_MAX_TREE = 150  # levels of the tree: a sum of 150 terms

_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|['"(\[{)\]}]""", re.DOTALL)
_WORD = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|\w+|[^\w\s]""", re.DOTALL)
_LITERAL = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\"""", re.DOTALL)
_ESCAPE = re.compile(r"""\\([abfnrtvxuUN'"\\\n]|(?![4-7][0-7][0-7])[0-7])?""")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_ALLOWED = (
    nodes.Name,
    nodes.Const,
    nodes.List,
    nodes.Tuple,
    nodes.Dict,
    nodes.Pair,
    nodes.Keyword,
    nodes.CondExpr,
    nodes.Filter,
    nodes.Test,
    nodes.Call,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Slice,
    nodes.Concat,
    nodes.Compare,
    nodes.Operand,
    nodes.BinExpr,
    nodes.UnaryExpr,
)


@dataclass(frozen=True, slots=True)
class References:
    """The names an expression or template uses.

    `roots`: scopes (`input`, `steps`, ...), unknown ones too. `steps`: names used as `steps.x` or `steps['x']`.
    `all_steps`: `steps` is used in a way its names cannot be told from (`steps[item]`, `steps | length`).
    `paths`: every chain of literal parts, longest first part known: `("input", "order", "id")`.
    `outputs`: steps whose output is read; `looked`: those of them whose output is not only passed on as a whole.
    """

    roots: frozenset[str] = frozenset()
    steps: frozenset[str] = frozenset()
    all_steps: bool = False
    paths: frozenset[tuple[str, ...]] = frozenset()
    outputs: frozenset[str] = frozenset()
    looked: frozenset[str] = frozenset()

    def __or__(self, other: References) -> References:
        return References(
            self.roots | other.roots,
            self.steps | other.steps,
            self.all_steps or other.all_steps,
            self.paths | other.paths,
            self.outputs | other.outputs,
            self.looked | other.looked,
        )


def split(text: str) -> list[tuple[bool, str]]:
    """`text` as pieces: (False, plain text) and (True, source of an expression).

    A `}}` inside a text literal or closing a map literal does not end the expression.
    """
    pieces: list[tuple[bool, str]] = []
    start = 0
    while (opening := text.find("{{", start)) >= 0:
        end = expression_end(text, opening + 2)
        pieces += [(False, text[start:opening]), (True, _inside(text[opening + 2 : end]))]
        start = end + 2
    pieces.append((False, text[start:]))
    return [piece for piece in pieces if piece[0] or piece[1]]


def words(text: str) -> int:
    """How many words, text literals and signs there are in a text: about what reading it costs."""
    return len(_WORD.findall(text))


def unwrap(text: str) -> str:
    """The source in `{{ source }}`, or `text` itself when it is a bare expression."""
    bare = text.strip()
    if not bare.startswith("{{"):
        return bare
    end = expression_end(bare, 2)
    if end + 2 != len(bare):
        raise ExpressionError(f"there is more after its '}}}}': {bare[end + 2 : end + 42].strip()}")
    return _inside(bare[2:end])


def _inside(source: str) -> str:
    if source[:1] in ("-", "+") or source[-1:] in ("-", "+"):
        raise ExpressionError(f"'{{{{{source[:60]}}}}}': put a space between the braces and '-' or '+'")
    return source


def expression_end(text: str, start: int) -> int:
    """Where the `}}` stands that ends the expression beginning at `start`; the end of the text without braces."""
    for position, depth, token in _brackets(text, start):
        if token == "}" and depth == 0 and text.startswith("}}", position):
            return position
        if depth == 0 and token in _PAIRS:
            break
    raise ExpressionError(
        f"'{{{{{text[start : start + 60]}': this '{{{{' has no matching '}}}}' "
        "(the two characters themselves are written {{ '{{' }})"
    )


def _brackets(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """Brackets outside text literals, each with how many are open before it."""
    depth = 0
    for found in _TOKEN.finditer(text, start):
        token = found.group()
        if len(token) > 1:
            continue
        if token in "'\"":
            raise ExpressionError(f"'{text[start : start + 60].strip()}': the text literal at {token} does not end")
        yield found.start(), depth, token
        depth += -1 if token in _PAIRS else 1


def read(source: str) -> nodes.Expr:
    """The checked tree of one expression. Raises `ExpressionError`, without naming the expression."""
    if len(source) > MAX_SOURCE:
        raise ExpressionError(f"it is longer than {MAX_SOURCE} characters")
    simple = shortcut(source)
    return _read(source) if simple is None else simple


def _read(source: str) -> nodes.Expr:
    if not source.strip():
        raise ExpressionError("it is empty")
    if any(depth >= _MAX_BRACKETS for _, depth, _ in _brackets(source, 0)):
        raise ExpressionError(f"it has brackets nested more than {_MAX_BRACKETS} deep")
    try:
        tree = parse(_with_known_escapes(source))
    except TemplateSyntaxError as error:
        raise ExpressionError(f"it cannot be read: {error.message}") from error
    except RecursionError as error:
        raise ExpressionError("it is nested too deeply") from error
    except (ValueError, OverflowError) as error:
        raise ExpressionError(f"it cannot be read: {error}") from error
    _check(tree)
    return tree


def _with_known_escapes(source: str) -> str:
    """`source` with `'\\d'` written `'\\\\d'`: it means the same, and Python does not warn of it."""
    return _LITERAL.sub(lambda found: _ESCAPE.sub(_known, found.group()), source) if "\\" in source else source


def _known(found: re.Match[str]) -> str:
    return found.group() if found.group(1) else f"\\{found.group()}"


def _check(tree: nodes.Node) -> None:
    level: list[nodes.Node] = [tree]
    for _ in range(_MAX_TREE):
        for node in level:
            _check_node(node)
        level = [child for node in level for child in node.iter_child_nodes()]
        if not level:
            return
    raise ExpressionError(f"its operations are nested more than {_MAX_TREE} deep")


def _check_node(node: nodes.Node) -> None:
    if not isinstance(node, _ALLOWED):
        raise ExpressionError(f"'{type(node).__name__}' is not part of the language")
    if isinstance(node, nodes.Name) and node.name.startswith("_"):
        raise ExpressionError(f"'{node.name:.60}' is not defined; names do not begin with '_'")
    if isinstance(node, nodes.Filter) and node.name not in FILTERS:
        raise ExpressionError(unknown("filter", node.name))
    if isinstance(node, nodes.Test) and node.name not in TESTS:
        raise ExpressionError(unknown("test", node.name))
    if isinstance(node, nodes.Call):
        _check_call(node.node)


def _check_call(target: nodes.Expr) -> None:
    if isinstance(target, nodes.Name):
        if target.name not in FUNCTIONS:
            raise ExpressionError(unknown_function(target.name))
    elif not isinstance(target, nodes.Getattr):
        raise ExpressionError("only functions and methods can be called")


def references(tree: nodes.Expr) -> References:
    """The names `tree` uses."""
    paths = frozenset(_paths(tree))
    steps = {path for path in paths if path[0] == "steps"}
    return References(
        frozenset(path[0] for path in paths),
        frozenset(path[1] for path in steps if len(path) > 1),
        any(len(path) == 1 for path in steps),
        paths,
        *_outputs(tree, steps),
    )


_APART = frozenset({("status",), ("error",), ("attempt",), ("items",)})  # parts of a step besides its output


def _outputs(tree: nodes.Expr, steps: Collection[tuple[str, ...]]) -> tuple[frozenset[str], frozenset[str]]:
    outputs = frozenset(path[1] for path in steps if len(path) > 1 and path[2:3] not in _APART)
    path = literal_path(tree)
    passed_on = path is not None and len(path) == 3 and path[2] == "output"
    return outputs, frozenset() if passed_on else outputs


def _paths(node: nodes.Node) -> Iterator[tuple[str, ...]]:
    """The longest literal chain from each name, and those inside computed keys and arguments."""
    path = literal_path(node)
    if path is not None:
        yield path
        return
    for child in _read_nodes(node):
        yield from _paths(child)


def _read_nodes(node: nodes.Node) -> Iterator[nodes.Node]:
    """Child nodes whose values are read: not a function's name, and of a method what it belongs to."""
    for child in node.iter_child_nodes():
        if isinstance(node, nodes.Call) and child is node.node:
            if isinstance(child, nodes.Getattr):
                yield child.node
        else:
            yield child


def literal_path(node: nodes.Node) -> tuple[str, ...] | None:
    """`("steps", "a.b", "output")` of `steps['a.b'].output`, or None."""
    parts: list[str] = []
    while True:
        if isinstance(node, nodes.Name):
            return (node.name, *reversed(parts))
        if isinstance(node, nodes.Getattr):
            parts.append(node.attr)
        elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            parts.append(node.arg.value)
        else:
            return None
        node = node.node


def path_text(node: nodes.Node) -> str | None:
    """The same as a person writes it; also over literal indexes. None for anything else."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getattr):
        owner = path_text(node.node)
        return None if owner is None else joined(owner, node.attr)
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        owner = path_text(node.node)
        return None if owner is None else joined(owner, node.arg.value)
    return None
