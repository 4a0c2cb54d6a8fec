"""Makes what tells traces, from the OTEL_* variables; loaded by load.py where they ask for it."""

from __future__ import annotations

import importlib.metadata
import random

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from orchestrator.config import Config
from orchestrator.errors import InvalidConfig, Problem
from orchestrator.replay.here import Here
from orchestrator.store.db import Database
from orchestrator.tracing.attempts import Attempts
from orchestrator.tracing.runs import Runs
from orchestrator.tracing.spans import Otel

_GROUP = "opentelemetry_traces_exporter"
_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


def make_attempts(config: Config, db: Database, worker_id: str) -> Attempts:
    """Of a process that calls functions. In that very process: the thread that sends does not survive a fork."""
    attempts = Attempts(Otel(_provider(config)), db, worker_id)
    Here.around = staticmethod(attempts.here)
    return attempts


def make_runs(config: Config, db: Database) -> Runs:
    """Of a coordinator."""
    return Runs(Otel(_provider(config)), db)


def _provider(config: Config) -> TracerProvider:
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
        provider.add_span_processor(BatchSpanProcessor(_exporter(name, config.traces.protocol)))
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
