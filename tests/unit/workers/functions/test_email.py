"""email.send, against an SMTP server of this process."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from orchestrator.context import AttemptContext
from orchestrator.errors import Fail
from tests.mailbox import Sink, mail_server
from workers.functions.email import send


@pytest.fixture
def sink() -> Iterator[Sink]:
    with mail_server() as made:
        yield made


class _Link:
    def report(self, progress: object) -> bool:
        return False


def context(attempt: int) -> AttemptContext:
    return AttemptContext("run", "mail", attempt, "run-1:step-1", logging.getLogger("test"), _Link())


def deliver(sink: Sink, **given: object) -> dict[str, object]:
    options = {"sender": "shop@example.com", "to": "ann@example.com", "subject": "Hello", "text": "Hi", "tls": "none"}
    return send(host="127.0.0.1", port=sink.port, **(options | given))  # type: ignore[arg-type]


def test_a_text_mail_arrives(sink: Sink) -> None:
    told = deliver(sink, text="Grüße", headers={"X-Order": "7"})
    (mail,) = sink.mails
    assert (mail["From"], mail["To"], mail["Subject"]) == ("shop@example.com", "ann@example.com", "Hello")
    assert mail["X-Order"] == "7"
    assert mail["Message-ID"] == told["message_id"]
    assert mail.get_payload(decode=True).decode().strip() == "Grüße"  # type: ignore[union-attr]
    assert told["refused"] == []


def test_text_and_html_are_alternatives(sink: Sink) -> None:
    deliver(sink, html="<b>Hi</b>")
    deliver(sink, text=None, html="<b>Hi</b>")
    assert [part.get_content_type() for part in sink.mails[0].walk()] == [
        "multipart/alternative",
        "text/plain",
        "text/html",
    ]
    assert sink.mails[1].get_content_type() == "text/html"


def test_blind_copies_are_delivered_and_not_shown(sink: Sink) -> None:
    deliver(sink, to=["ann@example.com", "bob@example.com"], cc="carl@example.com", bcc=["dora@example.com"])
    assert sink.recipients == [[f"{name}@example.com" for name in ("ann", "bob", "carl", "dora")]]
    assert sink.mails[0]["Cc"] == "carl@example.com"
    assert "dora" not in sink.mails[0].as_string()


def test_a_refused_address_is_told_when_others_were_served(sink: Sink) -> None:
    assert deliver(sink, to=["ann@example.com", "nobody@example.com"])["refused"] == ["nobody@example.com"]


def test_every_attempt_of_a_step_sends_the_same_message_id(sink: Sink) -> None:
    first = deliver(sink, ctx=context(1))
    second = deliver(sink, ctx=context(2))
    assert first["message_id"] == second["message_id"] == "<run-1.step-1@example.com>"


def test_a_mail_that_says_nothing_or_how_to_send_it_wrongly_is_refused(sink: Sink) -> None:
    with pytest.raises(Fail, match="text"):
        deliver(sink, text=None)
    with pytest.raises(Fail, match="starttls"):
        deliver(sink, tls="yes")
