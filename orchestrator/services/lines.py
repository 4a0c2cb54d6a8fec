"""Lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

# Within a text they may stand as they are; but many a reader takes them for the end of a line.
_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in ("\u0085", "\u2028", "\u2029")}


def lines_of(file: IO[bytes], most_bytes: int) -> Iterator[bytes]:
    """Each line with its end; of one that is too large, as much as shows that it is, and nothing after it."""
    while line := file.readline(most_bytes + 1):
        yield line
        if len(line) > most_bytes:
            return


def text_of(line: Any) -> bytes:
    """The line, with its end."""
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    return (text.translate(_ENDS) + "\n").encode("utf-8", "backslashreplace")
