"""Each request has an id, in its answer and in the log."""

from __future__ import annotations

import logging
import re
import secrets
import time

from flask import Flask, Response, g, request

from orchestrator.config import Config

log = logging.getLogger("orchestrator.web")
API = "/api/"
_ID = re.compile(r"[\w.:-]{1,100}", re.ASCII)


def is_api() -> bool:
    """Whether the request is for the API, whose every answer is for programs."""
    return request.path.startswith(API) or request.path == API[:-1]


def watch_requests(app: Flask, config: Config) -> None:
    """Give each request its id; let the API's answers be kept nowhere, and read from where the settings allow."""
    origins = frozenset(config.cors_origins)

    @app.before_request
    def begin() -> None:
        given = request.headers.get("X-Request-Id", "")
        g.request_id = given if _ID.fullmatch(given) else secrets.token_hex(8)
        g.began = time.monotonic()

    @app.after_request
    def end(response: Response) -> Response:
        response.headers["X-Request-Id"] = g.request_id
        if is_api():
            response.headers.setdefault("Cache-Control", "no-store")
            _let_others_read(response, origins)
        _tell(response)
        return response


def _let_others_read(response: Response, origins: frozenset[str]) -> None:
    """CORS, for pages of the origins that the settings name; off when they name none."""
    if not origins:
        return
    response.headers.add("Vary", "Origin")
    origin = request.headers.get("Origin", "")
    if origin not in origins and "*" not in origins:
        return
    response.headers["Access-Control-Allow-Origin"] = origin or "*"
    response.headers["Access-Control-Expose-Headers"] = "Location, Retry-After, X-Request-Id"
    if request.method == "OPTIONS":
        response.headers["Access-Control-Allow-Methods"] = "GET, POST, PUT, PATCH, DELETE"
        response.headers["Access-Control-Allow-Headers"] = (
            "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id"
        )
        response.headers["Access-Control-Max-Age"] = "600"


def _tell(response: Response) -> None:
    level = logging.INFO if response.status_code >= 400 else logging.DEBUG
    if log.isEnabledFor(level):
        spent = (time.monotonic() - g.began) * 1000
        who = g.identity.name if "identity" in g else "-"
        told = (request.method, request.path, response.status_code, spent, g.request_id, who)
        log.log(level, "%s %r %d in %.1f ms, request %s of %r", *told, extra={"status": response.status_code})
