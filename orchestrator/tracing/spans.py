"""Spans with ids of ours, by the OpenTelemetry SDK."""

from __future__ import annotations

import importlib.metadata
import threading
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import (
    INVALID_SPAN_CONTEXT,
    NonRecordingSpan,
    Span,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
)

from orchestrator.domain.tracing import read_traceparent, run_span, trace_of

_FLUSH_SECONDS = 2.0
_span_wanted: ContextVar[str] = ContextVar("orchestrator_span_id", default="")
_trace_wanted: ContextVar[str] = ContextVar("orchestrator_trace_id", default="")


class Ids(IdGenerator):
    """Ids of spans that all processes know by name; those of others are made as they were."""

    def __init__(self, others: IdGenerator) -> None:
        self._others = others

    def generate_span_id(self) -> int:
        wanted = _span_wanted.get()
        return int(wanted, 16) if wanted else self._others.generate_span_id()

    def generate_trace_id(self) -> int:
        wanted = _trace_wanted.get()
        return int(wanted, 16) if wanted else self._others.generate_trace_id()


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace that a run belongs to; `caller`: the span its first run was started in."""

    id: str
    sampled: bool
    caller: SpanContext | None

    def span(self, id: str) -> SpanContext:
        """A span of it that some process has told, or will tell."""
        return _context(self.id, id, self.sampled)

    def run(self, run_id: str) -> SpanContext:
        return self.span(run_span(run_id))


class Otel:
    """Makes spans with the ids that are wanted."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        provider.id_generator = Ids(provider.id_generator)  # type: ignore[assignment]
        self.tracer = provider.get_tracer("orchestrator", importlib.metadata.version("orchestrator"))

    def trace(self, root_id: str, traceparent: str | None) -> Trace:
        """Of a run: its caller's, else its own, of which every process comes to think the same."""
        caller, id = read_traceparent(traceparent), trace_of(root_id, traceparent)
        if caller is not None:
            return Trace(id, caller.sampled, _context(id, caller.span_id, caller.sampled))
        result = self._provider.sampler.should_sample(None, int(id, 16), "run")
        return Trace(id, result.decision is Decision.RECORD_AND_SAMPLE, None)

    def start(self, of: Trace, span_id: str, name: str, parent: SpanContext | None, **given: Any) -> Span:
        """A span of the trace; `parent` None: its first."""
        above = trace.set_span_in_context(NonRecordingSpan(parent or INVALID_SPAN_CONTEXT))
        wanted, within = _span_wanted.set(span_id), _trace_wanted.set(of.id)
        try:
            return self.tracer.start_span(name, above, **given)
        finally:
            _trace_wanted.reset(within)
            _span_wanted.reset(wanted)

    def flush(self) -> None:
        """Send what waits to be sent; a collector that does not answer is not waited for: the SDK would, for long."""
        sending = threading.Thread(target=self._provider.force_flush, daemon=True)
        sending.start()
        sending.join(_FLUSH_SECONDS)


def _context(trace_id: str, span_id: str, sampled: bool) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=flags)


def fail(span: Span, type: str, message: str, traceback: str | None, at: int | None = None) -> None:
    """The span's work has failed; `at`: nanoseconds of the epoch."""
    told = {"exception.type": type, "exception.message": message}
    span.add_event("exception", told | ({"exception.stacktrace": traceback} if traceback else {}), at)
    span.set_status(Status(StatusCode.ERROR, f"{type}: {message}"[:1000]))
