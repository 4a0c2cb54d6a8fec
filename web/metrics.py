"""/metrics for Prometheus: what Postgres tells, remembered for some seconds, and what this process has served."""

from __future__ import annotations

import importlib.metadata
import logging
import threading
import time
from collections.abc import Callable, Iterator

from flask import Blueprint, Flask, Response, current_app, g, request
from prometheus_client import CollectorRegistry, Histogram, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from orchestrator.config import Config
from orchestrator.errors import OrchestratorError
from orchestrator.store.counts import count_events, read_counts
from orchestrator.store.db import Database
from orchestrator.store.measured import read_measured
from orchestrator.store.reads.metrics import read_gauges
from web.auth import current_identity
from web.errors import Forbidden, Refused
from web.measures import measures
from web.problems import status_of

log = logging.getLogger("orchestrator.web")
metrics = Blueprint("metrics", __name__)
SECONDS = 5.0  # how long what was read is told again
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Reading(Collector):
    """What the database tells, read at most once in `SECONDS`, by one request at a time."""

    def __init__(self, db: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._db, self._clock = db, clock
        self._lock = threading.Lock()
        self._known: list[Metric] = []
        self._until = float("-inf")

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            if self._clock() >= self._until:
                self._known = list(self._read())
                self._until = self._clock() + SECONDS
            yield from self._known

    def _read(self) -> Iterator[Metric]:
        began = self._clock()
        try:
            with self._db.transaction() as conn:
                count_events(conn)
            with self._db.transaction() as conn:
                gauges, counts, measured = read_gauges(conn), read_counts(conn), read_measured(conn)
        except OrchestratorError as error:
            log.warning("/metrics cannot read the database: %s", error)
            return measures(_version(), self._clock() - began, None, ())
        return measures(_version(), self._clock() - began, gauges, counts, measured)


def new_histogram(registry: CollectorRegistry | None) -> Histogram:
    """How long requests take."""
    return Histogram(
        "orchestrator_web_request_seconds",
        "How long requests took, until the answer began, by the route's template.",
        ("method", "route", "status"),
        registry=registry,
        buckets=_BUCKETS,
    )


class Measured:
    """The registry of one application, and how long its requests take."""

    def __init__(self, db: Database) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(Reading(db))
        self.requests = new_histogram(self.registry)

    def note(self, response: Response) -> Response:
        """A request was answered."""
        method = request.method if request.method in _METHODS else "other"
        route = request.url_rule.rule if request.url_rule is not None else "none"
        self.requests.labels(method, route, str(response.status_code)).observe(time.monotonic() - g.began)
        return response


def measure(app: Flask, config: Config) -> None:
    """Serve /metrics, and measure every request."""
    measured = Measured(app.extensions["orchestrator.database"])
    app.extensions["orchestrator.measured"] = measured
    app.config["METRICS_OPEN"] = config.metrics_open
    app.after_request(measured.note)
    app.register_blueprint(metrics)


@metrics.get("/metrics")
def show() -> Response:
    """Whoever holds a token of all apps, or anybody where the settings say so."""
    try:
        _check()
    except Refused as error:
        headers = {"WWW-Authenticate": 'Bearer realm="orchestrator"'} if status_of(error) == 401 else {}
        return Response(f"{error}\n", status_of(error), headers, mimetype="text/plain")
    measured: Measured = current_app.extensions["orchestrator.measured"]
    told = generate_latest(measured.registry)
    return Response(told, content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"})


def _check() -> None:
    if not current_app.config["METRICS_OPEN"] and current_identity().app is not None:
        raise Forbidden("a token of one app is not for metrics, which are of all apps")


def _version() -> str:
    return importlib.metadata.version("orchestrator")
