"""A collector of traces: what OTLP exporters send over HTTP, kept in memory."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Told:
    """A span as it was sent."""

    trace: str
    id: str
    parent: str
    name: str
    attributes: dict[str, Any]
    failed: bool
    began: int
    ended: int
    events: list[dict[str, Any]]
    links: list[str]
    service: str

    def __getitem__(self, name: str) -> Any:
        return self.attributes.get(f"orchestrator.{name}")


@dataclass
class Collector:
    port: int = 0
    spans: list[Told] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def of(self, trace: str) -> list[Told]:
        return [span for span in self.spans if span.trace == trace]

    def tree(self, trace: str, root: str = "") -> dict[str, Any]:
        """Names of spans below the parent, with theirs below; those of one name are numbered by their beginning."""
        below: dict[str, Any] = {}
        for span in sorted(self.of(trace), key=lambda one: one.began):
            if span.parent == root:
                count = sum(name.split(" #")[0] == span.name for name in below)
                below[f"{span.name} #{count + 1}" if count else span.name] = self.tree(trace, span.id)
        return below

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            service = _attributes(resource.resource.attributes).get("service.name", "")
            for scope in resource.scope_spans:
                self.spans += [_told(span, service) for span in scope.spans]


def _told(span: Any, service: str) -> Told:
    return Told(
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.name,
        _attributes(span.attributes),
        span.status.code == 2,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        [_attributes(event.attributes) for event in span.events],
        [link.span_id.hex() for link in span.links],
        service,
    )


def _attributes(given: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value") or "string_value") for one in given}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802 - the library's name
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.take(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
