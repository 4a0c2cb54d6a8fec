"""The OpenAPI document as a page: Swagger UI from its wheel, and nothing from elsewhere."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import flask_swagger_ui
from flask import Blueprint, Response, render_template, send_from_directory
from werkzeug.exceptions import NotFound

from web.api.noun import PREFIX

docs = Blueprint("api-page", __name__, url_prefix=f"{PREFIX}/docs")

_FILES = frozenset({"swagger-ui.css", "swagger-ui-bundle.js", "LICENSE"})
_FOLDER = Path(flask_swagger_ui.__file__).parent / "dist"
_YEAR = 366 * 86400


@docs.get("")
def page() -> str:
    """The page; the document is for everybody, and asks for a token where it tries a request."""
    return render_template("apidocs.html", release=version("flask-swagger-ui"))


@docs.get("/<file>")
def part(file: str) -> Response:
    """A file of Swagger UI; its address changes with its release."""
    if file not in _FILES:
        raise NotFound
    response = send_from_directory(_FOLDER, file, max_age=_YEAR)
    response.headers["Cache-Control"] = f"public, max-age={_YEAR}, immutable"
    return response
