"""A document as YAML that a person could have written: short maps on one line, a blank line between steps, comments.

A map may hold comments for the lines above it under the key `COMMENTS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.domain.loading.scalars import resolve

COMMENTS = "#"
_WIDTH = 110
_PLAIN = re.compile(r"[^\W\d_][\w .@/+=()<>!?%*'-]*")
_PLAIN_ALONE = re.compile(r"[^\W\d_](?:[\w .@/+=()<>!?%*,;'\"\[\]-]|:(?=\S))*")


def write(document: Mapping[str, Any]) -> str:
    """The text of a document."""
    lines = [f"# {line}".rstrip() for line in document.get(COMMENTS, ())]
    before = ""
    for key, value in document.items():
        if key == COMMENTS:
            continue
        if lines and ("steps" in (key, before)) and lines[-1]:
            lines.append("")
        if key == "steps":
            lines += ["steps:", *_steps(value)]
        else:
            lines += _entry(key, value, 0)
        before = key
    return "\n".join(lines) + "\n"


def plain(value: Any) -> Any:
    """The value without its comments."""
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items() if key != COMMENTS}
    return [plain(part) for part in value] if isinstance(value, list) else value


def _steps(steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    small = all(len(step) <= 3 and COMMENTS not in step for step in steps)
    for number, step in enumerate(steps):
        short = _flow(step) if small else None
        if short is not None and len(short) <= _WIDTH - 4:
            yield f"  - {short}"
            continue
        if number:
            yield ""
        yield from (f"  # {line}".rstrip() for line in step.get(COMMENTS, ()))
        yield from _item(step, 2)


def _entry(key: str, value: Any, indent: int) -> Iterator[str]:
    """`key: value` on one line or more."""
    start = " " * indent + _scalar(key, inside=True) + ":"
    if isinstance(value, str):
        yield from _text(start, value, indent)
    elif (short := _flow(value)) is not None and len(start) + 1 + len(short) <= _WIDTH and _fits(key, value):
        yield f"{start} {short}"
    elif isinstance(value, list):
        yield start
        for part in value:
            yield from _item(part, indent + 2)
    else:
        yield start
        for inner, part in value.items():
            yield from _entry(inner, part, indent + 2)


def _item(value: Any, indent: int) -> Iterator[str]:
    """A list's element, with its dash."""
    short = None if isinstance(value, Mapping) and "name" in value else _flow(value)
    if short is not None and indent + 2 + len(short) <= _WIDTH:
        yield " " * indent + f"- {short}"
        return
    if isinstance(value, str) or not value:
        yield from _text(" " * indent + "-", value, indent)
        return
    lines = _block(value, indent + 2)
    first = next(lines)
    yield " " * indent + "- " + first[indent + 2 :]
    yield from lines


def _block(value: Any, indent: int) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _item(part, indent)
        return
    for key, part in value.items():
        if key != COMMENTS:
            yield from _entry(key, part, indent)


def _fits(key: str, value: Any) -> bool:
    """Whether it reads well on one line: not maps of maps, but for edges."""
    if key in ("depends_on", "retry", "with_items") or not isinstance(value, Mapping | list):
        return True
    parts = list(value.values()) if isinstance(value, Mapping) else value
    deep = any(isinstance(part, Mapping | list) and part for part in parts)
    return len(parts) <= 4 and not deep if isinstance(value, Mapping) else not deep


def _text(start: str, text: str, indent: int) -> Iterator[str]:
    if "\n" in text and not text[0].isspace() and _clean(text):
        yield f"{start} |" + ("" if text.endswith("\n") else "-")
        for line in text.removesuffix("\n").split("\n"):
            yield (" " * (indent + 2) + line).rstrip()
        return
    yield f"{start} {_scalar(text)}"


def _clean(text: str) -> bool:
    """Whether a literal block gives it back: no blanks at a line's end, nothing that cannot be printed."""
    return all(line == line.rstrip() and line.isprintable() for line in text.split("\n")) and not text.endswith("\n\n")


def _flow(value: Any) -> str | None:
    """The value on one line, None for a text of several."""
    if isinstance(value, Mapping):
        parts = [(_scalar(key, inside=True), _flow(part)) for key, part in value.items() if key != COMMENTS]
        return None if any(part is None for _, part in parts) else "{" + ", ".join(f"{k}: {v}" for k, v in parts) + "}"
    if isinstance(value, list):
        items = [_flow(part) for part in value]
        return None if None in items else "[" + ", ".join(part for part in items if part is not None) + "]"
    if isinstance(value, str) and "\n" in value.strip("\n"):
        return None
    return _scalar(value, inside=True)


def _scalar(value: Any, *, inside: bool = False) -> str:
    """A scalar; `inside`: within brackets, or as a key."""
    if not isinstance(value, str):
        return json.dumps(value)
    form = _PLAIN if inside else _PLAIN_ALONE
    if form.fullmatch(value) and value == value.strip() and resolve(value) == value and not value.endswith(":"):
        return value
    return printable(json.dumps(value, ensure_ascii=False))


def printable(text: str) -> str:
    """The text with what is no character of a line as an escape: it could be no YAML, or steer a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(ord(c)) for c in text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
