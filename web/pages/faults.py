"""Pages for what went wrong."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from flask import Flask, Response, current_app, flash, make_response, redirect, render_template, request
from werkzeug.exceptions import HTTPException, InternalServerError

from orchestrator.errors import OrchestratorError, Unreachable
from orchestrator.ids import new_id
from web.auth import current_identity
from web.errors import Refused

_TITLES = {
    400: "This request cannot be read",
    401: "Sign in first",
    403: "You may not do this",
    404: "There is nothing here",
    405: "This cannot be done here",
    413: "This is too large",
    429: "Too many attempts",
    503: "The database cannot be read",
}


def show_fault(status: int, detail: str, request_id: str | None = None) -> Response:
    """A page, or within one a line, that says what is wrong."""
    title = _TITLES.get(status, "Something went wrong")
    if "HX-Request" in request.headers:
        return make_response(render_template("ui/fault.html", title=title, detail=detail), status)
    return make_response(render_template("fault.html", title=title, detail=detail, request_id=request_id), status)


def show_refusal(error: OrchestratorError) -> Response:
    """What an act or a filter was refused for, on the page it came from when there is one."""
    if request.method == "POST" and "HX-Request" not in request.headers:
        flash(str(error), "error")
        return make_response(redirect(request.path, 303))
    return show_fault(409 if request.method == "POST" else 400, str(error))


def show_unreachable(error: OrchestratorError) -> Response:
    """Nothing can be shown without the database."""
    current_app.logger.warning("a page cannot read the database: %s", error)
    return show_fault(503, "It is down or not set up; /readyz says why.")


def install_faults(app: Flask) -> None:
    """Faults outside of any page. Under /api/ the API answers."""
    for status in (404, 405, 413):
        app.register_error_handler(status, _outside)
    app.register_error_handler(InternalServerError, _broken)


def _outside(error: HTTPException) -> Any:
    if request.path.startswith("/api/"):
        return error
    with suppress(Refused, Unreachable):
        current_identity()  # whoever is signed in sees the navigation
    return show_fault(error.code or 500, f"No page of this address: {request.path}" if error.code == 404 else "")


def _broken(error: InternalServerError) -> Any:
    if request.path.startswith("/api/"):
        return error
    request_id = request.headers.get("X-Request-ID") or new_id()
    current_app.logger.error("request %s failed", request_id, exc_info=error.original_exception)
    return show_fault(500, "It is our fault; the log of the web process tells more.", request_id)
