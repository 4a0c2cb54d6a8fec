from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.following import Follower
from tests.integration.workers.fleet import Fleet
from tests.integration.workers.forks import Forks


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """What workers and beats are forked from."""
    made = Forks()
    yield made
    made.close()


@pytest.fixture
def follower(
    database_url: str, broker_url: str, tmp_path: Path, forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Follower]:
    """Somebody who does what a page says, in a folder and an installation of its own."""
    (folder := tmp_path / "folder").mkdir()
    fleet = Fleet(database_url, broker_url, tmp_path, forks, home=folder)
    fleet.environment["ORCHESTRATOR_LEASE_SECONDS"] = "60"  # no page waits for the end of one
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", broker_url)
    yield Follower(fleet, folder)
    fleet.end()
