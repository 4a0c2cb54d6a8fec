"""Names of a run in traces (W3C Trace Context): told from ids, so that all processes give a span the same one.

A run belongs to the trace of whoever started it, else to one of its own; what it starts belongs to the same.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_SAMPLED = 1


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose span a run was started in. `sampled`: whether the trace is kept."""

    trace_id: str
    span_id: str
    sampled: bool


def read_traceparent(text: str | None) -> Caller | None:
    """The caller that a `traceparent` header names; None for one that is no such header."""
    found = _TRACEPARENT.fullmatch(text.strip().lower()) if text and len(text) < 500 else None
    if found is None or text is None or text.strip().lower().startswith("ff"):
        return None
    return Caller(found[1], found[2], bool(int(found[3], 16) & _SAMPLED))


def trace_of(root_id: str, traceparent: str | None) -> str:
    """The trace's id, in 32 hexadecimal digits, of the run at the top and all below it."""
    caller = read_traceparent(traceparent)
    return _digits(16, "trace", root_id) if caller is None else caller.trace_id


def run_span(run_id: str, life: int = 0) -> str:
    """The span of a run; `life`: how often it had ended before an operator let it go on."""
    return _digits(8, "run", run_id, *([str(life)] if life else []))


def attempt_span(step_id: str, number: int) -> str:
    """The span of an attempt of a step or item."""
    return _digits(8, "attempt", step_id, str(number))


def _digits(size: int, *words: str) -> str:
    return hashlib.blake2b("/".join(words).encode(), digest_size=size).hexdigest()
