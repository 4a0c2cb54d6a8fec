"""Connections to mail servers."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

TLS = ("starttls", "tls", "none")
_PORTS = {"starttls": 587, "tls": 465, "none": 25}


@dataclass(frozen=True, slots=True)
class MailServer:
    """`tls`: `starttls`, `tls` from the first byte, or `none`."""

    host: str
    port: int | None
    tls: str
    user: str | None = None
    password: str | None = None

    @classmethod
    def of(cls, url: str) -> MailServer:
        """That of a URL as `config_urls.smtp_url` takes it."""
        parts = urlsplit(url)
        tls = "tls" if parts.scheme == "smtps" else parts.query.removeprefix("tls=") or "starttls"
        user = unquote(parts.username) if parts.username else None
        password = unquote(parts.password) if parts.password else None
        return cls(parts.hostname or "", parts.port, tls, user, password)


@contextmanager
def connected(server: MailServer, timeout: float) -> Iterator[smtplib.SMTP]:
    """The server, logged in where it has a user; `timeout` in seconds, for each wait."""
    with _connect(server, server.port or _PORTS[server.tls], timeout) as session:
        if server.user is not None:
            session.login(server.user, server.password or "")
        yield session


def _connect(server: MailServer, port: int, timeout: float) -> smtplib.SMTP:
    if server.tls == "tls":
        return smtplib.SMTP_SSL(server.host, port, timeout=timeout, context=ssl.create_default_context())
    session = smtplib.SMTP(server.host, port, timeout=timeout)
    if server.tls == "starttls":
        try:
            session.starttls(context=ssl.create_default_context())
        except BaseException:
            session.close()
            raise
    return session
