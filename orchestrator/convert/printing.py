"""A tree as an expression of ours, with no more brackets than it needs."""

from __future__ import annotations

import json
import re

from orchestrator.convert.syntax import (
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
    Unary,
)

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SIGNS = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in", "not in"), 4),
    **dict.fromkeys("+-", 5),
    "~": 6,
    **dict.fromkeys(("*", "/", "//", "%"), 7),
    "**": 9,
}
_NOT, _SIGNED, _FILTERED, _PART = 3, 8, 10, 11


def shown(node: Node, least: int = 0) -> str:
    """The expression; in brackets if it binds weaker than `least`."""
    text, strength = _shown(node)
    return f"({text})" if strength < least else text


def quoted(text: str) -> str:
    """A text as a literal."""
    inner = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"'{inner}'"


def _shown(node: Node) -> tuple[str, int]:
    if isinstance(node, Choice):
        other = "" if node.no is None else f" else {shown(node.no)}"
        return f"{shown(node.yes, 1)} if {shown(node.condition, 1)}{other}", 0
    if isinstance(node, Binary):
        strength = _SIGNS[node.sign]
        left = strength + 1 if node.sign == "**" or strength == _NOT + 1 else strength
        return f"{shown(node.left, left)} {node.sign} {shown(node.right, strength + 1)}", strength
    if isinstance(node, Unary):
        strength = _NOT if node.sign == "not" else _SIGNED
        return f"{node.sign}{' ' if node.sign == 'not' else ''}{shown(node.value, strength)}", strength
    return _tight(node), _FILTERED if isinstance(node, Filter | Test) else _PART


def _tight(node: Node) -> str:
    if isinstance(node, Const):
        return _const(node)
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Part):
        return shown(node.whole, _PART) + _key(node.key)
    if isinstance(node, Call):
        named = [f"{name}={shown(value)}" for name, value in node.named]
        return f"{shown(node.function, _PART)}({', '.join([*map(shown, node.args), *named])})"
    if isinstance(node, Filter):
        return f"{shown(node.value, _FILTERED)} | {node.name}{_args(node.args)}"
    if isinstance(node, Test):
        return f"{shown(node.value, _FILTERED)} is {'not ' if node.negated else ''}{node.name}{_args(node.args)}"
    if isinstance(node, Many):
        return f"[{', '.join(map(shown, node.parts))}]"
    assert isinstance(node, Pairs)
    return "{" + ", ".join(f"{shown(key)}: {shown(value)}" for key, value in node.parts) + "}"


def _const(node: Const) -> str:
    if isinstance(node.value, str):
        return quoted(node.value)
    return "none" if node.value is None else json.dumps(node.value)


def _key(key: Node) -> str:
    if isinstance(key, Const) and isinstance(key.value, str) and _IDENTIFIER.fullmatch(key.value):
        return f".{key.value}"
    return f"[{shown(key)}]"


def _args(args: tuple[Node, ...]) -> str:
    return f"({', '.join(map(shown, args))})" if args else ""
