"""Fixtures for projects that test with real servers: PostgreSQL and Valkey from wheels, started on first use.

`orchestrator_servers` (shared by all processes that test), `orchestrator_database_url` (a fresh, migrated database
for each test), `orchestrator_module_database_url` (for each module), `orchestrator_broker_url` (an empty broker for
each test). A server that does not start is an error, never a skip.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from orchestrator.embedded import ServerUrls, servers_for_tests
from orchestrator.embedded.scratch import fresh_database, meeting_folder, template_database
from orchestrator.store.databases import drop_database

_BROKERS = 4095  # Valkey databases for tests besides number 0, which counts them


@pytest.fixture(scope="session")
def orchestrator_servers() -> Iterator[ServerUrls]:
    """The servers; they end with the last process that uses them, however it ends."""
    with servers_for_tests(meeting_folder()) as urls:
        yield urls


@pytest.fixture(scope="session")
def orchestrator_template_url(orchestrator_servers: ServerUrls) -> str:
    """A migrated database to copy from; nobody can connect to it."""
    return template_database(orchestrator_servers.database_url, meeting_folder())


@pytest.fixture
def orchestrator_database_url(orchestrator_template_url: str) -> Iterator[str]:
    """A fresh, migrated database."""
    yield from _fresh(orchestrator_template_url)


@pytest.fixture(scope="module")
def orchestrator_module_database_url(orchestrator_template_url: str) -> Iterator[str]:
    """A fresh, migrated database, one for all tests of the module."""
    yield from _fresh(orchestrator_template_url)


@pytest.fixture
def orchestrator_broker_url(orchestrator_servers: ServerUrls) -> str:
    """An empty database of the Valkey server, used by no other test."""
    return empty_broker(orchestrator_servers)


def empty_broker(servers: ServerUrls) -> str:
    """The URL of an empty database of the Valkey server, used by nobody else."""
    with redis.Redis.from_url(servers.broker_url) as counter:
        number = int(counter.incr("tests")) % _BROKERS + 1
    url = servers.broker_url.removesuffix("/0") + f"/{number}"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


def _fresh(template_url: str) -> Iterator[str]:
    url = fresh_database(template_url, meeting_folder())
    yield url
    drop_database(url)
