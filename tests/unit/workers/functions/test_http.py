"""http.request, against a server of this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from orchestrator.errors import Fail
from workers.functions.http import BodyTooLarge, UnexpectedStatus, request


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/redirect":
            self.send_response(302)
            self.send_header("Location", parse_qs(parts.query)["to"][0])
            self.end_headers()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        told = {"method": self.command, "query": parse_qs(parts.query), "headers": dict(self.headers), "body": body}
        data = b"x" * 5000 if parts.path == "/large" else json.dumps(told).encode()
        self.send_response(int(parts.path[1:]) if parts.path[1:].isdigit() else 200)
        self.send_header("Content-Type", "text/plain" if parts.path == "/large" else "application/json")
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Quietly."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def test_a_json_answer_comes_with_its_value(server: str) -> None:
    answer = request(f"{server}/?a=1", params={"b": [2, 3]}, headers={"X-Shop": "north"})
    assert answer["status"] == 200
    assert answer["headers"]["content-type"] == "application/json"
    assert answer["json"] == json.loads(answer["body"])
    assert answer["json"]["query"] == {"a": ["1"], "b": ["2", "3"]}
    assert answer["json"]["headers"]["X-Shop"] == "north"


def test_json_is_sent_as_json(server: str) -> None:
    told = request(f"{server}/", method="post", json={"é": [1, None]})["json"]
    assert told["method"] == "POST"
    assert told["headers"]["Content-Type"] == "application/json"
    assert json.loads(told["body"]) == {"é": [1, None]}


def test_a_body_is_sent_as_it_is(server: str) -> None:
    assert request(f"{server}/", method="PUT", body="plain é")["json"]["body"] == "plain é"


@pytest.mark.parametrize("status", [404, 500, 503])
def test_a_bad_status_fails_the_step_and_shows_the_answer(server: str, status: int) -> None:
    with pytest.raises(UnexpectedStatus, match=f"{status}.*method"):
        request(f"{server}/{status}")


def test_an_expected_status_is_a_success_and_any_other_is_not(server: str) -> None:
    assert request(f"{server}/404", expect=404)["status"] == 404
    assert request(f"{server}/201", expect=[200, 201])["status"] == 201
    with pytest.raises(UnexpectedStatus):
        request(f"{server}/200", expect=404)


def test_an_error_does_not_repeat_the_secrets_of_a_url(server: str) -> None:
    url = server.replace("//", "//user:hunter2@") + "/500?token=hunter2"
    with pytest.raises(UnexpectedStatus) as caught:
        request(url.replace("user:hunter2@", ""), method="DELETE")
    assert "DELETE http://127.0.0.1" in str(caught.value)
    assert "/500?token" not in str(caught.value)


def test_an_answer_over_the_limit_is_refused(server: str) -> None:
    assert len(request(f"{server}/large")["body"]) == 5000
    with pytest.raises(BodyTooLarge, match="4999 bytes"):
        request(f"{server}/large", max_bytes=4999)


def test_a_redirect_is_followed_and_credentials_stay_with_their_host(server: str) -> None:
    headers = {"Authorization": "Bearer hunter2", "X-Kept": "yes"}
    same = request(f"{server}/redirect?to=/", headers=headers)["json"]["headers"]
    assert same["Authorization"] == "Bearer hunter2"
    other = server.replace("127.0.0.1", "localhost")
    moved = request(f"{server}/redirect?to={other}/", headers=headers)["json"]["headers"]
    assert "Authorization" not in moved
    assert moved["X-Kept"] == "yes"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/x", "127.0.0.1/x", "http://"])
def test_only_http_urls_are_opened(url: str) -> None:
    with pytest.raises(Fail, match="http:// or https://"):
        request(url)


def test_json_and_body_together_are_refused() -> None:
    with pytest.raises(Fail, match="not both"):
        request("http://127.0.0.1/", json={}, body="")


def test_a_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(OSError, match="refused"):
        request("http://127.0.0.1:1/")
