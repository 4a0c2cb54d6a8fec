"""UUIDv7 identifiers (RFC 9562, section 5.7) as canonical text."""

from __future__ import annotations

import os
import re
import threading
import time

_lock = threading.Lock()
_last = 0
_CANONICAL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def new_id() -> str:
    """A fresh UUIDv7; ids made in one process sort in the order they were made."""
    return new_ids(1)[0]


def new_ids(count: int) -> list[str]:
    """`count` ids in ascending order: 48 bits of milliseconds, 74 bits counted up from a random start."""
    global _last
    random = int.from_bytes(os.urandom(10), "big") & ((1 << 73) - 1)
    with _lock:
        first = max((time.time_ns() // 1_000_000 << 74) | random, _last + 1)
        _last = first + count - 1
    return [_format(value) for value in range(first, first + count)]


def new_token() -> str:
    """A random claim token (UUIDv4 shape): unguessable, with no order. `uuid.uuid4` would take half as long again."""
    value = int.from_bytes(os.urandom(16), "big")
    value = (value & ~(0xF << 76) & ~(0x3 << 62)) | (0x4 << 76) | (0x2 << 62)
    return _hyphenated(value)


def is_id(text: str) -> bool:
    """Whether `text` has the shape of an id of ours."""
    return _CANONICAL.fullmatch(text) is not None


def _format(value: int) -> str:
    time_ms, low = value >> 74, value & ((1 << 74) - 1)
    rand_a, rand_b = low >> 62, low & ((1 << 62) - 1)
    return _hyphenated(time_ms << 80 | 0x7 << 76 | rand_a << 64 | 0x2 << 62 | rand_b)


def _hyphenated(value: int) -> str:
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
