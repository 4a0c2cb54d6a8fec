"""The trace of the code that starts a run, if that code is traced."""

from __future__ import annotations

import sys


def callers_trace() -> str | None:
    """A `traceparent` of the current span; None without one. OpenTelemetry is not loaded for it."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    span = api.get_current_span().get_span_context()
    if not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags & 1:02x}"
