"""The expressions of other engines as trees: YAQL and Jinja are near enough to each other for one grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Args = tuple["Node", ...]


class Untranslatable(Exception):
    """An expression that has no equal here; the text says why."""


@dataclass(frozen=True, slots=True)
class Const:
    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Part:
    """`whole.key` or `whole[key]`."""

    whole: Node
    key: Node


@dataclass(frozen=True, slots=True)
class Call:
    function: Node
    args: Args
    named: tuple[tuple[str, Node], ...] = ()


@dataclass(frozen=True, slots=True)
class Filter:
    value: Node
    name: str
    args: Args = ()


@dataclass(frozen=True, slots=True)
class Test:
    value: Node
    name: str
    negated: bool = False
    args: Args = ()


@dataclass(frozen=True, slots=True)
class Unary:
    sign: str
    value: Node


@dataclass(frozen=True, slots=True)
class Binary:
    sign: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Choice:
    yes: Node
    condition: Node
    no: Node | None


@dataclass(frozen=True, slots=True)
class Many:
    """A list."""

    parts: Args


@dataclass(frozen=True, slots=True)
class Pairs:
    """A map."""

    parts: tuple[tuple[Node, Node], ...]


Node = Const | Name | Part | Call | Filter | Test | Unary | Binary | Choice | Many | Pairs


def inner(node: Node) -> Iterator[Node]:
    """The nodes a node is made of."""
    for name in node.__slots__:
        value = getattr(node, name)
        for part in value if isinstance(value, tuple) else (value,):
            yield from (one for one in (part if isinstance(part, tuple) else (part,)) if isinstance(one, Node))


def parts_of(node: Node) -> Iterator[Node]:
    """The node and all within it."""
    yield node
    for part in inner(node):
        yield from parts_of(part)


def size(node: Node, most: int) -> int:
    """How many nodes there are, counted up to one more than `most`: the same may stand in many places."""
    count, left = 0, [node]
    while left and count <= most:
        count += 1
        left += inner(left.pop())
    return count


_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.\d+|\d+)(?![\w])|(?P<name>[^\W\d]\w*)|(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"""|(?P<sign>=>|==|!=|<>|<=|>=|\*\*|//|[-+*/%~<>=|.,:()\[\]{}$]))""",
    re.DOTALL,
)
MAX_TOKENS = 300
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Token:
    """`kind`: number, name, text, sign or end."""

    kind: str
    text: str


def tokens(text: str) -> list[Token]:
    """The words and signs of an expression, an end behind them. Raises `Untranslatable`."""
    found: list[Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        if len(found) == MAX_TOKENS:
            raise Untranslatable(f"it has more than {MAX_TOKENS} words and signs")
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise Untranslatable(f"'{text[at:].strip()[:20]}' is not understood")
        found.append(Token(match.lastgroup, match.group(match.lastgroup)))
        at = match.end()
    return [*found, Token("end", "")]


def unquote(text: str) -> str:
    """What a text in quotes holds."""
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found.group(1), found.group(1)), text[1:-1])
