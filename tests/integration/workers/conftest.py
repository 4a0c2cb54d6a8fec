from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.workers.fleet import Fleet
from tests.integration.workers.forks import Forks


@pytest.fixture
def fleet(database_url: str, broker_url: str, tmp_path: Path, forks: Forks) -> Iterator[Fleet]:
    """Workers and beats for this test; all of them are gone after it."""
    made = Fleet(database_url, broker_url, tmp_path, forks)
    yield made
    made.end()
