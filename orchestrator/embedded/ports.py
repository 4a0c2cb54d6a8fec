"""Loopback ports."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"
_TRIES = 100


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port(preferred: int | None = None) -> int:
    """`preferred` when it is free, else a port the system picks; never one a server usually has."""
    if preferred is not None and is_free(preferred):
        return preferred
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
    return port


def next_free_port(first: int, host: str = LOOPBACK) -> int:
    """The first free port from `first` on; one the system picks when none of the next 100 is."""
    candidates = range(first, min(first + _TRIES, 65536))
    return next((port for port in candidates if is_free(port, host)), 0) or free_port()
