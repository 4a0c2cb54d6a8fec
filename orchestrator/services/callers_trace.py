"""The trace of the code that starts a run, if that code is traced."""

from __future__ import annotations

import sys


def callers_trace() -> str | None:
    """A `traceparent` of the current span; None without one. OpenTelemetry is not loaded for it."""
    # Another thread may be loading it this very moment, as the first use of a library that is traced does.
    current_span = getattr(sys.modules.get("opentelemetry.trace"), "get_current_span", None)
    span = None if current_span is None else current_span().get_span_context()
    if span is None or not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags & 1:02x}"
