"""Whether the broker answers; what goes through it is transport.py's business."""

from __future__ import annotations

from kombu import Connection

from orchestrator.config_urls import masked
from orchestrator.errors import Unreachable


def ping(url: str, *, timeout: float = 5) -> None:
    """Connect to the broker and log in, in about `timeout` seconds; raises `Unreachable` with what it said."""
    each = timeout / 2  # the library tries twice
    options = {"socket_connect_timeout": each, "socket_timeout": each}
    with Connection(url, connect_timeout=each, transport_options=options) as connection:
        errors: tuple[type[BaseException], ...] = (*connection.connection_errors, *connection.channel_errors, OSError)
        try:
            connection.ensure_connection(
                max_retries=1, interval_start=0, interval_step=0, reraise_as_library_errors=False
            )
        except errors as error:
            raise Unreachable(f"cannot reach the broker at {masked(url)}: {error}") from error
