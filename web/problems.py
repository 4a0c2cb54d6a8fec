"""Every error as an answer: problem details (RFC 9457), from one table."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, current_app, g
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from orchestrator.errors import (
    Conflict,
    ExpressionError,
    Locked,
    NotFound,
    OrchestratorError,
    Problem,
    ProblemsError,
    Unreachable,
    UnstorableValue,
)
from web.errors import MalformedBody, Refused
from web.requests import is_api

log = logging.getLogger("orchestrator.web")
PROBLEM = "application/problem+json"
PAGE_ERRORS = "orchestrator.page_errors"  # app.extensions: a function that answers a page's errors
_TYPE = "urn:orchestrator:problem:"
_AWAY_SECONDS = 5.0

# The first that fits.
STATUSES: Sequence[tuple[type[OrchestratorError], int]] = (
    (NotFound, 404),
    (Conflict, 409),
    (Locked, 503),
    (Unreachable, 503),
    (MalformedBody, 400),
    (ProblemsError, 422),
    (UnstorableValue, 422),
    (ExpressionError, 422),
    (OrchestratorError, 400),
)
TITLES = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported content",
    422: "Invalid",
    429: "Too many requests",
    500: "Internal error",
    503: "Unavailable",
}
# What Werkzeug's own words do not say.
_DETAILS = {
    404: "there is nothing at this address",
    405: "this address does not know the method",
    413: "the body is larger than this server takes (ORCHESTRATOR_MAX_DOCUMENT_BYTES, four times)",
}


def answer_errors(app: Flask) -> None:
    """Answer the API's errors as problems; those of pages by the function the pages have put into `extensions`."""
    app.register_error_handler(HTTPException, _answer)
    app.register_error_handler(Exception, _answer)


def _answer(error: Exception) -> ResponseReturnValue:
    if not is_api():
        of_pages: Callable[[Exception], ResponseReturnValue] | None = current_app.extensions.get(PAGE_ERRORS)
        if of_pages is not None:
            return of_pages(error)
        if isinstance(error, HTTPException):
            return error
    status = status_of(error)
    if status == 500:
        log.error("request %s failed", g.request_id, exc_info=error)
    return _problem(status, *_told(error, status), _headers(error, status))


def status_of(error: Exception) -> int:
    """The status an error is answered with; 500 for one that is a fault of ours."""
    if isinstance(error, HTTPException):
        return error.code or 500
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def title_of(status: int) -> str:
    """What a status means here; the names of HTTP change over time."""
    return TITLES.get(status) or HTTPStatus(status).phrase


def slug_of(status: int) -> str:
    return title_of(status).lower().replace(" ", "-")


def _told(error: Exception, status: int) -> tuple[str, Sequence[Problem]]:
    """Detail and problems. Nothing of a fault of ours: its text may hold what is nobody's business."""
    if isinstance(error, ProblemsError):
        return error.headline, error.problems
    if isinstance(error, UnstorableValue):
        return str(error), [Problem(error.path, str(error))]
    if isinstance(error, OrchestratorError):
        return str(error), ()
    if isinstance(error, HTTPException) and status != 500:
        return _DETAILS.get(status) or error.description or error.name, ()
    return f"an unexpected error, which is a bug; the log tells more under {g.request_id}", ()


def _headers(error: Exception, status: int) -> dict[str, str]:
    headers: dict[str, str] = {}
    if isinstance(error, HTTPException):
        headers = {name: value for name, value in error.get_headers() if name in ("Allow", "Retry-After")}
    wait = error.retry_after if isinstance(error, Refused) else _AWAY_SECONDS if status == 503 else None
    if wait is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait)))
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="orchestrator"'
    return headers


def problem_shown(problem: Problem) -> dict[str, str | None]:
    """One thing that is wrong, as answers hold it."""
    return {"path": problem.path, "message": problem.message, "hint": problem.hint}


def _problem(status: int, detail: str, problems: Sequence[Problem], headers: dict[str, str]) -> Response:
    body: dict[str, Any] = {
        "type": _TYPE + slug_of(status),
        "title": title_of(status),
        "status": status,
        "detail": detail,
        "errors": [problem_shown(problem) for problem in problems],
        "request_id": g.request_id,
    }
    # Escaped: a text may hold halves of surrogate pairs that somebody sent.
    return Response(json.dumps(body), status, headers, mimetype=PROBLEM)
