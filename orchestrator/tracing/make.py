"""Makes what tells traces, from the OTEL_* variables; loaded by load.py where they ask for it."""

from __future__ import annotations

import importlib.metadata
import random
from collections.abc import Callable, Sequence

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from orchestrator.config import Config
from orchestrator.errors import InvalidConfig, Problem
from orchestrator.replay.here import Here
from orchestrator.store.db import Database
from orchestrator.tracing.attempts import Attempts
from orchestrator.tracing.runs import Runs
from orchestrator.tracing.spans import Otel

_GROUP = "opentelemetry_traces_exporter"
_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


class Apart(SpanExporter):
    """Sends in threads that are `apart` from the attempts of the process, whose logs would have the exporter's."""

    def __init__(self, exporter: SpanExporter, apart: Callable[[], None]) -> None:
        self._exporter, self._apart = exporter, apart

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._apart()
        return self._exporter.export(spans)

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def make_attempts(config: Config, db: Database, worker_id: str, apart: Callable[[], None]) -> Attempts:
    """Of a process that calls functions. In that very process: the thread that sends does not survive a fork."""
    attempts = Attempts(Otel(_provider(config, apart)), db, worker_id)
    Here.around = staticmethod(attempts.here)
    return attempts


def make_runs(config: Config, db: Database) -> Runs:
    """Of a coordinator."""
    return Runs(Otel(_provider(config, _nothing)), db)


def _nothing() -> None:
    """A coordinator has no attempts."""


def _provider(config: Config, apart: Callable[[], None]) -> TracerProvider:
    """The process's own, if somebody has set one, such as `opentelemetry-instrument`; else ours, which becomes that."""
    there = trace.get_tracer_provider()
    if isinstance(there, TracerProvider):
        return there
    random.seed()  # the SDK's ids are made by it, and forked processes would go on with the same
    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "orchestrator"}))
    provider = TracerProvider(resource=resource)
    for name in config.traces.exporters:
        provider.add_span_processor(BatchSpanProcessor(Apart(_exporter(name, config.traces.protocol), apart)))
    trace.set_tracer_provider(provider)
    return provider


def _exporter(name: str, protocol: str) -> SpanExporter:
    wanted = _PROTOCOLS.get(protocol, protocol) if name == "otlp" else name
    found = list(importlib.metadata.entry_points(group=_GROUP, name=wanted))
    if not found:
        told = f"asks for '{wanted}', which is not installed"
        raise InvalidConfig([Problem("OTEL_TRACES_EXPORTER", told, "install the package that has this exporter")])
    made: SpanExporter = found[0].load()()
    return made
