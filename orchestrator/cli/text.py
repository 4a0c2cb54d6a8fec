"""Texts as a terminal may show them: no control characters, cut to width, times and durations for people."""

from __future__ import annotations

import json
import re
import shlex
from datetime import datetime
from typing import Any

from rich.cells import cell_len, set_cell_size

from orchestrator.domain.blobs import with_words

# Control characters but tab and newline, marks that reverse the order of text, halves of surrogate pairs.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def clean(text: str) -> str:
    """`text` with what could steer the terminal shown as an escape (`\\x1b`); tabs and newlines stay."""
    return UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one_line(text: str) -> str:
    """The first line of `text`, cleaned; ` ...` says that there are more."""
    lines = [line for line in text.splitlines() if line.strip()] or [""]
    return clean(lines[0].strip().expandtabs(1)) + (" ..." if len(lines) > 1 else "")


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells, its end replaced by an ellipsis."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 1 else "…"[:width]


def cut_middle(text: str, width: int) -> str:
    """`text` in at most `width` cells, its middle replaced by an ellipsis: names often differ at their end."""
    if cell_len(text) <= width:
        return text
    if width < 4:
        return cut(text, width)
    head = (width - 1) // 2
    tail = width - 1 - head
    start = len(text)
    while start and cell_len(text[start - 1 :]) <= tail:
        start -= 1
    return set_cell_size(text, head).rstrip() + "…" + text[start:]


def error_line(type: str | None, message: str | None) -> str:
    """`ValueError: the first line of what it said`."""
    said = one_line(message or "")
    return f"{clean(type or '?')}: {said}" if said else clean(type or "?")


def json_line(value: Any) -> str:
    """JSON on one line, cleaned; a few words stand for what lies in the blob store."""
    return clean(json.dumps(with_words(value), ensure_ascii=False))


def json_block(value: Any) -> str:
    """JSON over several lines, cleaned."""
    return clean(json.dumps(value, ensure_ascii=False, indent=2))


def ago(at: datetime, now: datetime) -> str:
    """`just now`, `4 min ago`, `3 d ago`."""
    seconds = (now - at).total_seconds()
    if seconds < 5:
        return "just now"
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {name} ago"
    return f"{int(seconds)} s ago"


def local(at: datetime) -> str:
    """The time on this machine's clock: `2026-11-29 17:34:05`."""
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def clock(at: datetime) -> str:
    """The time of day on this machine's clock: `17:34:05`."""
    return f"{at.astimezone():%H:%M:%S}"


def parsed(at: str | None) -> datetime | None:
    """The time in an ISO text of a view."""
    return datetime.fromisoformat(at) if at else None


def shell_word(text: str) -> str:
    """`text` as one word of a command line that can be pasted into a shell."""
    return shlex.quote(text)


def shell_argument(text: str) -> str:
    """A last argument of a command line, also when it begins with a dash."""
    return f"-- {shell_word(text)}" if text.startswith("-") else shell_word(text)


def shell_option(option: str, value: str) -> str:
    """`--step NAME`, also when the value begins with a dash."""
    return f"{option}{'=' if value.startswith('-') else ' '}{shell_word(value)}"


def plural(count: int, noun: str) -> str:
    """`1 step`, `3 steps`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
