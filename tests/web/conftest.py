"""The application on real servers."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from orchestrator.config import Config
from web.app import create_app


@pytest.fixture
def client(database_url: str, broker_url: str) -> FlaskClient:
    """A client of the application, its servers up and migrated."""
    return client_of(database_url, broker_url)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        yield listener.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def client_of(database_url: str, broker_url: str) -> FlaskClient:
    return create_app(Config(database_url=database_url, broker_url=broker_url)).test_client()
