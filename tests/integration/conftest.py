from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.embedded import ServerUrls
from orchestrator.ids import new_token
from orchestrator.store.databases import drop_database, ensure_database
from tests.integration.workers.forks import Forks


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """What workers and beats are forked from."""
    made = Forks()
    yield made
    made.close()


@pytest.fixture
def empty_database(orchestrator_servers: ServerUrls) -> Iterator[str]:
    """A database with nothing in it."""
    url = orchestrator_servers.database_url.rpartition("/")[0] + "/empty_" + new_token()[:8]
    ensure_database(url)
    yield url
    drop_database(url)
