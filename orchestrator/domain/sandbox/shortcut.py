"""What most expressions are, a path (`steps.a.output`, `input['x y'].z`) or a number, read without Jinja's parser.

That takes a fifth of the time, which counts where every step of a large workflow has some of its own.
"""

from __future__ import annotations

import re

from jinja2 import nodes

_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_TEXT = r"[^'\\\r\n]*"
_MOST_PARTS = 20  # below every limit on what an expression may hold
_PATH = re.compile(rf" *({_WORD})((?:\.{_WORD}|\['{_TEXT}'\]){{0,{_MOST_PARTS}}}) *")
_PARTS = re.compile(rf"\.({_WORD})|\['({_TEXT})'\]")
_NUMBER = re.compile(r" *([1-9][0-9]{0,15}) *")
_RESERVED = frozenset(
    {"true", "false", "none", "True", "False", "None", "not", "and", "or", "in", "is", "if", "elif", "else"}
)


def shortcut(source: str) -> nodes.Expr | None:
    """The tree of `source`, the same as Jinja's; None where it is more than a path or a number."""
    path = _PATH.fullmatch(source)
    if path is not None:
        name, parts = path.groups()
        return None if name in _RESERVED or name[0] == "_" else _path(name, parts)
    number = _NUMBER.fullmatch(source)
    return nodes.Const(int(number.group(1)), lineno=1) if number else None


def _path(name: str, parts: str) -> nodes.Expr:
    node: nodes.Expr = nodes.Name(name, "load", lineno=1)
    for part in _PARTS.finditer(parts):
        attribute, key = part.groups()
        if attribute is not None:
            node = nodes.Getattr(node, attribute, "load", lineno=1)
        else:
            node = nodes.Getitem(node, nodes.Const(key, lineno=1), "load", lineno=1)
    return node
