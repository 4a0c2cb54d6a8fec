from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.workers.fleet import Fleet


@pytest.fixture
def fleet(database_url: str, broker_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Workers and beats for this test; all of them are gone after it."""
    made = Fleet(database_url, broker_url, tmp_path)
    yield made
    made.end()
