"""Names in addresses, however the server in front hands them on."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask, request
from werkzeug.test import EnvironBuilder, run_wsgi_app

from web.paths import believe_proxies, use_exact_paths


@pytest.fixture
def app() -> Flask:
    made = Flask(__name__)
    use_exact_paths(made)

    @made.get("/names/<name>")
    def shown(name: str) -> str:
        return f"{name}|{made.url_for('shown', name=name)}"

    @made.get("/address")
    def address() -> str:
        return f"{request.remote_addr} {request.scheme}"

    return made


def asked(app: Flask, raw: str, **environ: Any) -> tuple[int, str]:
    """The answer to a request line with this address."""
    built = EnvironBuilder(path=raw).get_environ() | {"RAW_URI": raw, "REQUEST_URI": raw} | environ
    body, status, _ = run_wsgi_app(app, {name: value for name, value in built.items() if value is not None})
    return int(status[:3]), b"".join(body).decode()


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("/names/a%2Fb", "a/b"),
        ("/names/a%2fb?x=%2F", "a/b"),
        ("/names/%252F", "%2F"),
        ("/names/100%25", "100%"),
        ("/names/%E5%90%8D", "名"),
        ("http://host.example/names/a%2Fb?x=1", "a/b"),
        ("/names/a+b", "a+b"),
    ],
)
def test_a_name_is_what_stands_in_its_segment_decoded_once(app: Flask, raw: str, name: str) -> None:
    status, told = asked(app, raw)
    assert (status, told.split("|")[0]) == (200, name)
    assert asked(app, told.split("|")[1]) == (200, told)


@pytest.mark.parametrize("raw", ["/names/a/b", "/names/", "/names//a", "/names/%00", "/names/%0A"])
def test_what_is_no_name_is_not_found(app: Flask, raw: str) -> None:
    assert asked(app, raw)[0] == 404


def test_a_server_that_tells_only_the_decoded_path_loses_the_slash_alone(app: Flask) -> None:
    gone = {"RAW_URI": None, "REQUEST_URI": None}
    assert asked(app, "/names/100%25", PATH_INFO="/names/100%", **gone)[1].split("|")[0] == "100%"
    assert asked(app, "/names/a%2Fb", PATH_INFO="/names/a/b", **gone)[0] == 404


def test_proxies_are_believed_as_many_as_there_are(app: Flask) -> None:
    told = {"HTTP_X_FORWARDED_FOR": "6.6.6.6, 10.0.0.9", "HTTP_X_FORWARDED_PROTO": "https", "REMOTE_ADDR": "10.0.0.1"}
    assert asked(app, "/address", **told)[1] == "10.0.0.1 http"
    believe_proxies(app, 1)
    assert asked(app, "/address", **told)[1] == "10.0.0.9 https"
