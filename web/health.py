"""Probes. `/healthz`: the process is alive. `/readyz`: it can serve; 503 says which check failed and why."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, jsonify

from web.readiness import Readiness

health = Blueprint("health", __name__)


@health.get("/healthz")
def healthz() -> Response:
    """Touches nothing: a database that is down is no reason to restart this process."""
    return _uncached(jsonify(status="ok"))


@health.get("/readyz")
def readyz() -> tuple[Response, int]:
    """Answers within the checks' bound, whatever hangs."""
    readiness: Readiness = current_app.extensions["orchestrator.readiness"]
    faults = readiness.faults()
    checks = {name: {"ok": fault is None, "detail": fault} for name, fault in faults.items()}
    ready = not any(faults.values())
    body = jsonify(status="ready" if ready else "not ready", checks=checks)
    return _uncached(body), 200 if ready else 503


def _uncached(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response
