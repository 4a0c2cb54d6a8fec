"""`email.send`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Any

from orchestrator.context import AttemptContext
from orchestrator.errors import Fail
from orchestrator.functions import function
from workers.mail import TLS, MailServer, connected


@function(name="email.send")
def send(
    host: str,
    sender: str,
    to: str | Sequence[str],
    subject: str,
    text: str | None = None,
    html: str | None = None,
    cc: str | Sequence[str] = (),
    bcc: str | Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
    port: int | None = None,
    tls: str = "starttls",
    username: str | None = None,
    password: str | None = None,
    timeout: float = 30.0,
    ctx: AttemptContext | None = None,
) -> dict[str, Any]:
    """Send an e-mail through an SMTP server: `message_id`, and who was `refused`.

    `tls`: `starttls` (port 587), `tls` from the first byte (port 465), or `none` (port 25). The message id is the
    same for every attempt of a step, so that a mail sent twice can be told from two.
    """
    if tls not in TLS:
        raise Fail(f"`tls` must be one of {', '.join(TLS)}, not '{tls}'")
    if text is None and html is None:
        raise Fail("give `text`, `html` or both")
    message = _message(sender, _list(to), _list(cc), subject, text, html)
    for name, value in (headers or {}).items():
        message[name] = value
    domain = sender.rpartition("@")[2].rstrip("> ") or "localhost"
    message["Message-ID"] = f"<{ctx.idempotency_key.replace(':', '.')}@{domain}>" if ctx else make_msgid(domain=domain)
    with connected(MailServer(host, port, tls, username, password), timeout) as server:
        refused = server.send_message(message, sender, [*_list(to), *_list(cc), *_list(bcc)])
    return {"message_id": str(message["Message-ID"]), "refused": sorted(refused)}


def _list(addresses: str | Sequence[str]) -> list[str]:
    return [addresses] if isinstance(addresses, str) else list(addresses)


def _message(
    sender: str, to: list[str], cc: list[str], subject: str, text: str | None, html: str | None
) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, ", ".join(to), subject
    message["Date"] = formatdate()
    if cc:
        message["Cc"] = ", ".join(cc)
    if text is not None:
        message.set_content(text)
    if html is not None and text is not None:
        message.add_alternative(html, subtype="html")
    elif html is not None:
        message.set_content(html, subtype="html")
    return message
