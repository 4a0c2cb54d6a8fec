"""One attempt to hand over a message of an alert: as a signed POST, or as a mail. It takes a bounded time."""

from __future__ import annotations

import json
import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.utils import formatdate
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qsl, unquote, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from orchestrator.domain.alerts import lines_of, one_line, slack_text, title_of
from orchestrator.domain.masking import MASK
from orchestrator.domain.signatures import SIGNATURE_HEADER, TIME_HEADER, sign
from orchestrator.services.deliver_alerts import Delivery, Undelivered
from workers.mail import MailServer, connected

WAIT_SECONDS = 10.0  # for a connection, and for each answer
ATTEMPT_SECONDS = 20.0  # for all of it, however slowly the other side answers
_MOST_READ = 300
_SHORT = 3  # characters that are no secret
_NOT_FOR_GOOD = frozenset({408, 425, 429})  # of the statuses that say that the request is at fault


class _Cut:
    """Cuts the connection of an attempt that takes too long: an answer that comes byte by byte never times out."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()
        self.over = False

    def watch(self, opened: socket.socket | None) -> None:
        with self._lock:
            self._socket = opened
            if self.over and opened is not None:
                opened.close()

    def cut(self) -> None:
        with self._lock:
            self.over = True
            if self._socket is not None:
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)
                except OSError:
                    self._socket.close()  # it is not connected any more


@contextmanager
def _bounded(seconds: float) -> Iterator[_Cut]:
    cut = _Cut()
    timer = threading.Timer(seconds, cut.cut)
    timer.daemon = True
    timer.start()
    try:
        yield cut
    finally:
        timer.cancel()


class _Unfollowed(HTTPRedirectHandler):
    """Follows no redirect: where it leads nobody has said a webhook may go."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Http(HTTPHandler):
    def __init__(self, cut: _Cut) -> None:
        super().__init__()
        self._cut = cut

    def http_open(self, req: Request) -> Any:
        return self.do_open(_watched(HTTPConnection, self._cut), req)


class _Https(HTTPSHandler):
    def __init__(self, cut: _Cut) -> None:
        super().__init__(context=ssl.create_default_context())
        self._cut = cut

    def https_open(self, req: Request) -> Any:
        return self.do_open(_watched(HTTPSConnection, self._cut), req, context=self._context)  # type: ignore[attr-defined]


def _watched(kind: type[HTTPConnection], cut: _Cut) -> type[HTTPConnection]:
    class Watched(kind):  # type: ignore[misc, valid-type]
        def connect(self) -> None:
            super().connect()
            cut.watch(self.sock)

    return Watched


def post(delivery: Delivery, seconds: float = ATTEMPT_SECONDS) -> None:
    """POST the message as JSON, signed where the rule has a secret, as a hook of this product takes it; raises
    `Undelivered`. Nothing of the URL is told but its host."""
    body = body_of(delivery)
    with _bounded(seconds) as cut:
        opener = build_opener(_Unfollowed, _Http(cut), _Https(cut))
        try:
            with opener.open(_request(delivery, body), timeout=min(WAIT_SECONDS, seconds)) as answer:
                answer.read(_MOST_READ)
        except HTTPError as error:
            raise _refusal(error, delivery) from None
        except (OSError, HTTPException, ValueError) as error:
            raise Undelivered(_why(error, cut.over, seconds)) from None
        if cut.over:
            raise Undelivered(_why(None, True, seconds))


def body_of(delivery: Delivery) -> bytes:
    """The message with its id, and with `text` for Slack and what is like it."""
    told = {"id": delivery.id, "text": slack_text(delivery.message), "title": title_of(delivery.message)}
    return json.dumps(told | dict(delivery.message), ensure_ascii=False).encode()


def _request(delivery: Delivery, body: bytes) -> Request:
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "orchestrator-alerts"}
    if delivery.secret is not None:
        now = int(time.time())
        headers |= {TIME_HEADER.title(): str(now), SIGNATURE_HEADER.title(): sign(delivery.secret, now, body)}
    return Request(delivery.url or "", body, headers, method="POST")


def _refusal(error: HTTPError, delivery: Delivery) -> Undelivered:
    with error:
        try:
            said = _hidden(one_line(error.read(_MOST_READ).decode(errors="ignore")), delivery)
        except (OSError, HTTPException):
            said = ""
    if 300 <= error.code < 400:
        return Undelivered(
            f"answered {error.code}, a redirect, which is not followed: give the URL it leads to", refused=True
        )
    refused = 400 <= error.code < 500 and error.code not in _NOT_FOR_GOOD
    return Undelivered(f"answered {error.code}{': ' + said if said else ''}", refused=refused)


def _hidden(text: str, delivery: Delivery) -> str:
    """What others answer, without what of the URL or the secret they may repeat, also of one that was cut."""
    parts = urlsplit(delivery.url or "")
    values = [*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query)), delivery.secret or ""]
    known = {one for part in values for one in (part, unquote(part)) if len(one) > _SHORT}
    for value in sorted(known, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text[: len(text) - max((_begun(value, text) for value in known), default=0)]


def _begun(value: str, text: str) -> int:
    """How much of the value stands at the text's end."""
    return next((n for n in range(min(len(value), len(text)), _SHORT, -1) if text.endswith(value[:n])), 0)


def _why(error: Exception | None, over: bool, seconds: float) -> str:
    if over:
        return f"no answer within {seconds:g} seconds"
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return f"no answer within {min(WAIT_SECONDS, seconds):g} seconds"
    return one_line(f"cannot be reached: {reason or type(error).__name__}")


def mail(delivery: Delivery, smtp_url: str, sender: str, seconds: float = ATTEMPT_SECONDS) -> None:
    """Send the message to the rule's addresses; raises `Undelivered`, also when the server takes it for some only."""
    if not smtp_url:
        raise Undelivered("the coordinator has no mail server (ORCHESTRATOR_SMTP_URL)")
    if not delivery.emails:
        raise Undelivered("the rule has no e-mail address any more", refused=True)
    server = MailServer.of(smtp_url)
    with _bounded(seconds) as cut:
        try:
            with connected(server, min(WAIT_SECONDS, seconds)) as session:
                cut.watch(session.sock)
                refused = session.send_message(mail_of(delivery, sender or f"orchestrator@{server.host}"))
        except smtplib.SMTPResponseException as error:
            raise Undelivered(_answered(error.smtp_code, error.smtp_error), refused=error.smtp_code >= 500) from None
        except smtplib.SMTPRecipientsRefused as error:
            raise _not_for(error.recipients, in_part=False) from None
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise Undelivered(f"the mail server: {_why(error, cut.over, seconds)}") from None
    if refused:
        raise _not_for(refused, in_part=True)


def mail_of(delivery: Delivery, sender: str) -> EmailMessage:
    """The mail; its Message-ID is the same for each attempt."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = sender, ", ".join(delivery.emails), title_of(delivery.message)
    made["Date"] = formatdate()
    made["Message-ID"] = f"<{delivery.id}@{sender.rpartition('@')[2]}>"
    if delivery.message["alert_id"]:
        made["References"] = f"<{delivery.message['alert_id']}@{sender.rpartition('@')[2]}>"  # one thread an alert
    made["Auto-Submitted"] = "auto-generated"
    made.set_content(
        "\n".join(
            (
                title_of(delivery.message),
                "",
                *lines_of(delivery.message),
                "",
                f"Alert rule: {one_line(delivery.message['rule'])}",
            )
        )
    )
    return made


def _answered(code: int, said: bytes | str) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return one_line(f"the mail server answered {code}: {text}")


def _not_for(refused: dict[str, tuple[int, bytes]], *, in_part: bool) -> Undelivered:
    """Whom the server does not take it for: for good, unless it says of one that it may later."""
    told = "; ".join(
        one_line(f"{address}: {code} {said.decode(errors='replace')}") for address, (code, said) in refused.items()
    )
    return Undelivered(told, refused=all(code >= 500 for code, _ in refused.values()), in_part=in_part)
