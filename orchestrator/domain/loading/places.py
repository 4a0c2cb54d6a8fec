"""Where in a text the parts of a document stand: the line of a problem."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PART = re.compile(r"\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\.?([^.\[\]]+)")
_SAID = re.compile(r"^line (\d+), column \d+: ")


def lines_of(text: str, paths: Sequence[str]) -> list[int | None]:
    """For each path (`steps[2].retry`) the line, from 1, of what is there, or of the nearest thing around it.

    None for all when the text cannot be read: what is wrong with it then says its line itself (`line_said`).
    """
    try:
        root = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError, ValueError):
        root = None
    return [_line(root, path) if root is not None else None for path in paths]


def line_said(message: str) -> int | None:
    """The line that a problem's message begins with."""
    found = _SAID.match(message)
    return int(found.group(1)) if found else None


def _line(root: Any, path: str) -> int:
    found, line = root, root.start_mark.line
    for key in _keys(path):
        inner = _inside(found, key)
        if inner is None:
            break
        found, line = inner
    return int(line) + 1


def _keys(path: str) -> Iterator[str | int]:
    for number, quoted, plain in _PART.findall(path):
        yield int(number) if number else quoted.replace("\\'", "'") or plain


def _inside(value: Any, key: str | int) -> tuple[Any, int] | None:
    """What is under the key, and the line where it begins: for a map's entry that of its key."""
    if isinstance(value, yaml.SequenceNode) and isinstance(key, int) and key < len(value.value):
        return value.value[key], value.value[key].start_mark.line
    if isinstance(value, yaml.MappingNode):
        for name, inner in value.value:
            if isinstance(name, yaml.ScalarNode) and name.value == str(key):
                return inner, name.start_mark.line
    return None
