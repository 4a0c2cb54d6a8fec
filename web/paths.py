"""Names in addresses: any name may stand in one segment of a path, percent-encoded, a `/` as `%2F` too.

A WSGI server decodes the path before it is matched, so that `a%2Fb` would be two segments. Here the path is matched as
it was sent, and each segment decoded by its converter.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, unquote, unquote_to_bytes, urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask
from werkzeug.exceptions import NotFound
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.routing import BaseConverter

_RAW = ("RAW_URI", "REQUEST_URI")  # as gunicorn and others call it


class NameConverter(BaseConverter):
    """One segment of a path: the name of something, which is printable. Nothing has another name."""

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        name = unquote(value)
        if not name.isprintable():
            raise NotFound  # not `ValidationError`: other methods of the same address would make a 405 of it
        return name

    def to_url(self, value: object) -> str:
        return quote(str(value), safe="")


class ExactPaths:
    """WSGI middleware: hands the path on with `%2F` and `%25` still encoded, for `NameConverter` to decode."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ["PATH_INFO"] = _exact(environ)
        return self._app(environ, start_response)


def use_exact_paths(app: Flask) -> None:
    """Let `<name>` in the application's rules be any name."""
    app.url_map.converters["default"] = app.url_map.converters["string"] = NameConverter
    app.url_map.merge_slashes = False
    app.wsgi_app = ExactPaths(app.wsgi_app)  # type: ignore[method-assign]


def believe_proxies(app: Flask, count: int) -> None:
    """Take address, scheme and host of a request from the headers that so many proxies in front have set."""
    if count:
        app.wsgi_app = ProxyFix(app.wsgi_app, count, count, count)  # type: ignore[method-assign]


def _exact(environ: WSGIEnvironment) -> str:
    """The path as WSGI wants it (bytes as Latin-1), decoded but for `%2F` and `%25`."""
    decoded: str = environ.get("PATH_INFO", "")
    raw = next((environ[name] for name in _RAW if environ.get(name)), None)
    if raw is None or environ.get("SCRIPT_NAME"):
        return decoded.replace("%", "%25")
    path = urlsplit(raw).path if "://" in raw else raw.partition("?")[0].partition("#")[0]
    kept = path.replace("%25", "%2525").replace("%2f", "%252F").replace("%2F", "%252F")
    return unquote_to_bytes(kept.encode("latin-1", "replace")).decode("latin-1")
