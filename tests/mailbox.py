"""A mail server of this process."""

from __future__ import annotations

import email
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message


@dataclass
class Sink:
    """An SMTP server that keeps what it gets."""

    port: int
    mails: list[Message] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)


class _Session(socketserver.StreamRequestHandler):
    """As much SMTP as one client needs."""

    def handle(self) -> None:
        self.say("220 sink")
        recipients: list[str] = []
        while line := self.rfile.readline().decode().strip():
            verb = line[:4].upper()
            if verb == "RCPT":
                refused = "nobody@" in line or "later@" in line
                self.say("450 not now" if "later@" in line else "550 unknown" if refused else "250 ok")
                recipients += [] if refused else [line.partition("<")[2].partition(">")[0]]
            elif verb == "DATA":
                self.say("354 go on")
                self.keep(recipients)
                self.say("250 kept")
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 ok")

    def keep(self, recipients: list[str]) -> None:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line)
        sink: Sink = self.server.sink  # type: ignore[attr-defined]
        sink.mails.append(email.message_from_bytes(b"".join(lines)))
        sink.recipients.append(recipients)

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def mail_server() -> Iterator[Sink]:
    """One on a port of its own."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Session) as server:
        made = Sink(server.server_address[1])
        server.sink = made  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield made
        server.shutdown()
