"""The documentation, for everybody: the site that `make site` builds, and that a wheel brings along.

It is files, sent under the same content security policy as every page (docs/adr/0030-the-site-obeys-the-policy.md).
"""

from __future__ import annotations

import re
from pathlib import Path

from flask import Blueprint, Response, make_response, redirect, render_template, send_from_directory, url_for

docs = Blueprint("docs", __name__, url_prefix="/docs")

SITE = Path(__file__).with_name("site")
_HASHED = re.compile(r"\.[0-9a-f]{8}\.min\.\w+$|/moved/[0-9a-f]{12}\.js$")
_YEAR = 366 * 86400


@docs.get("")
def beginning() -> Response:
    """The first page."""
    return make_response(redirect(url_for("docs.page", file="index.html"), 302))


@docs.get("/")
def first() -> Response:
    return beginning()


@docs.get("/<path:file>")
def page(file: str) -> Response:
    """A file of the site; a browser asks each time whether it has changed, unless its name says what it holds."""
    if not (SITE / "index.html").is_file():
        return make_response(render_template("undocumented.html"), 404)
    hashed = _HASHED.search(file) is not None
    response = send_from_directory(SITE, file, max_age=_YEAR if hashed else 0)
    if hashed:
        response.headers["Cache-Control"] = f"public, max-age={_YEAR}, immutable"
    return response
