"""Forwards connections to a server of the tests: with TLS before it, or from another address."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LOOPBACK = "127.0.0.1"


@contextmanager
def tunnel(port: int, *, host: str = LOOPBACK, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Where `host` listens for connections to `port` of this machine."""
    with socket.create_server((host, 0)) as server:
        threading.Thread(target=_accept, args=(server, port, tls), daemon=True).start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)


def _accept(server: socket.socket, port: int, tls: ssl.SSLContext | None) -> None:
    with suppress(OSError):  # it is closed at the end
        while True:
            theirs, _ = server.accept()
            threading.Thread(target=_serve, args=(theirs, port, tls), daemon=True).start()


def _serve(theirs: socket.socket, port: int, tls: ssl.SSLContext | None) -> None:
    with (
        suppress(OSError),
        theirs if tls is None else tls.wrap_socket(theirs, server_side=True) as outer,
        socket.create_connection((LOOPBACK, port)) as inner,
    ):
        back = threading.Thread(target=_copy, args=(inner, outer), daemon=True)
        back.start()
        _copy(outer, inner)
        back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Until one of them ends; then both do."""
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for one in (source, sink):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def unsigned_tls(folder: Path) -> ssl.SSLContext:
    """A server's side of TLS with a certificate that nobody has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "broker")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "tls.pem"
    plain = serialization.NoEncryption()
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        + made.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
