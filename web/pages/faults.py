"""Pages for what went wrong: the one function that answers every error of a page."""

from __future__ import annotations

import logging
from contextlib import suppress

from flask import Flask, Response, flash, g, make_response, redirect, render_template, request
from werkzeug.exceptions import HTTPException

from orchestrator.errors import Conflict, InvalidInput, OrchestratorError, Unreachable
from web.auth import current_identity
from web.errors import Refused
from web.problems import PAGE_ERRORS, status_of

log = logging.getLogger("orchestrator.web")

_TITLES = {
    401: "Sign in first",
    403: "You may not do this",
    404: "There is nothing here",
    405: "This cannot be done here",
    413: "This is too large",
    422: "This cannot be understood",
    429: "Too many attempts",
    500: "Something went wrong",
    503: "The database cannot be read",
}


def install_faults(app: Flask) -> None:
    """Let pages answer their errors themselves."""
    app.extensions[PAGE_ERRORS] = answer


def answer(error: Exception) -> Response:
    """What the error means, in words; nothing of a fault of ours but the request's id."""
    with suppress(Refused, Unreachable):
        current_identity()  # whoever is signed in sees the navigation
    status = status_of(error)
    if isinstance(error, (Conflict, InvalidInput)) and request.method == "POST" and "HX-Request" not in request.headers:
        flash(str(error), "error")
        return make_response(redirect(request.path, 303))
    if status == 500:
        log.error("request %s failed", g.request_id, exc_info=error)
        return show_fault(500, "It is our fault; the log of the web process tells more.", g.request_id)
    if status == 503:
        log.warning("a page cannot read the database: %s", error)
        told = "It is down or not set up; /readyz says why."
        if request.method == "POST" and "HX-Request" not in request.headers:
            return show_again(503, _TITLES[503], told)
        return show_fault(503, told)
    return show_fault(status, _told(error))


def show_fault(status: int, detail: str, request_id: str | None = None) -> Response:
    """A page, or within one a line, that says what is wrong."""
    title = _TITLES.get(status, "This request cannot be answered")
    if "HX-Request" in request.headers:
        return make_response(render_template("ui/fault.html", title=title, detail=detail), status)
    return make_response(render_template("fault.html", title=title, detail=detail, request_id=request_id), status)


def show_again(status: int, title: str, detail: str = "", *, sign_in: bool = False) -> Response:
    """A page that holds the form that was sent, to be sent once more."""
    values = {"title": title, "detail": detail, "sign_in": sign_in, "given": list(request.form.items(multi=True))}
    answer = make_response(render_template("again.html", **values), status)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _told(error: Exception) -> str:
    if isinstance(error, HTTPException) and error.code == 404:
        return f"No page has the address {request.path}"
    if isinstance(error, OrchestratorError):
        return str(error)
    return (error.description or "") if isinstance(error, HTTPException) else ""
