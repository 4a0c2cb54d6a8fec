"""`http.request`."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping, Sequence
from http.client import HTTPMessage, HTTPResponse
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from orchestrator.errors import Fail
from orchestrator.functions import function
from workers.functions.texts import decoded, expected

_SHOWN_CHARACTERS = 500
_PRIVATE = ("Authorization", "Cookie", "Proxy-authorization")


class UnexpectedStatus(Exception):
    """The server answered with a status the step does not expect."""


class BodyTooLarge(Fail):
    """The answer has more bytes than `max_bytes`."""


@function(name="http.request")
def request(
    url: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    json: Any = None,
    body: str | None = None,
    timeout: float = 30.0,
    expect: int | Sequence[int] | None = None,
    max_bytes: int = 1 << 20,
) -> dict[str, Any]:
    """Send an HTTP request: `status`, `headers` (names in lower case), `body` (text) and `json` where it is JSON.

    A status other than 2xx fails the step, unless `expect` names it. `timeout` in seconds, for each wait.
    """
    sent = _request(url, method, dict(headers or {}), params, json, body)
    wanted = expected(expect)
    with _open(sent, timeout) as answer:
        text = _read(answer, max_bytes)
        if (answer.status not in wanted) if wanted else not 200 <= answer.status < 300:
            raise UnexpectedStatus(
                f"{method} {_shown(url)}: {answer.status} {answer.reason}: {text[:_SHOWN_CHARACTERS]}"
            )
        return _answer(answer, text)


def _request(
    url: str, method: str, headers: dict[str, str], params: Mapping[str, Any] | None, json: Any, body: str | None
) -> Request:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Fail(f"`url` must be an http:// or https:// URL, not '{_shown(url)}'")
    if json is not None and body is not None:
        raise Fail("give `json` or `body`, not both")
    if params:
        query = "&".join(part for part in (parts.query, urlencode(params, doseq=True)) if part)
        url = urlunsplit(parts._replace(query=query))
    if json is not None:
        body = jsonlib.dumps(json)
        headers = {"Content-Type": "application/json", **headers}
    return Request(url, None if body is None else body.encode(), headers, method=method.upper())


class _Redirects(HTTPRedirectHandler):
    """Follows redirects, without showing another host what was meant for the first."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        if made is not None and urlsplit(newurl).netloc != urlsplit(req.full_url).netloc:
            for name in _PRIVATE:
                made.remove_header(name)
        return made


def _open(sent: Request, timeout: float) -> HTTPResponse:
    opener: OpenerDirector = build_opener(_Redirects)
    try:
        answer: HTTPResponse = opener.open(sent, timeout=timeout)
    except HTTPError as error:  # any answer is an answer; its status is judged later
        return error  # type: ignore[return-value]
    return answer


def _read(answer: HTTPResponse, max_bytes: int) -> str:
    data = answer.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise BodyTooLarge(f"the answer has more than {max_bytes} bytes (`max_bytes`)")
    return decoded(data, answer.headers.get_content_charset("utf-8"))


def _answer(answer: HTTPResponse, text: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "status": answer.status,
        "headers": {name.lower(): value for name, value in answer.headers.items()},
        "body": text,
    }
    if answer.headers.get_content_type().endswith("json"):
        try:
            told["json"] = jsonlib.loads(text)
        except ValueError:
            told["json"] = None
    return told


def _shown(url: str) -> str:
    """Without user, password and query, which may hold secrets."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
